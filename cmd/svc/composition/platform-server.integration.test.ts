import { once } from 'node:events';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { pino } from 'pino';
import type { ResourceType } from '#pkg/apimachinery/index';
import { RestClient } from '#pkg/client/index';
import { HttpServer, ServerCertificate } from '#pkg/http/index';
import { loadOptions } from '../options/load-options.ts';
import { platformServer } from './platform-server.ts';
import { issueCertificate, makeAuthority } from '../tls/local-authority.ts';

const namespaces: ResourceType = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
  hasStatusSubresource: true,
};
const added = { type: 'ADDED', object: { metadata: { name: 'default', resourceVersion: '8' } } };

let folder: string;
let caFile: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-platform-server-'));
  caFile = join(folder, 'ca.crt');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const warnings: string[] = [];
const log = pino(
  { level: 'warn' },
  { write: (line: string) => void warnings.push((JSON.parse(line) as { reason: string }).reason) },
);
const serverOf = (url: string): ReturnType<typeof platformServer> =>
  platformServer(
    loadOptions({ environment: {}, args: [`--svc.access.api-url=${url}`, `--svc.access.ca-file=${caFile}`] }).options,
    'svc.access',
    log,
  );

async function replace(text: string): Promise<void> {
  await writeFile(`${caFile}.new`, text);
  await rename(`${caFile}.new`, caFile);
}

test('a replaced authority is trusted from the next request on, and watches continue', async () => {
  const [authority, next] = [await makeAuthority(), await makeAuthority()];
  const certificate = new ServerCertificate(await issueCertificate(authority, ['127.0.0.1']));
  let streamed: ((text: string) => void) | undefined;
  const server = new HttpServer({
    log: pino({ enabled: false }),
    handler: async ({ request, response }) => {
      response.setHeader('Content-Type', 'application/json');
      // An agent's keep-alive connection ends like this.
      response.setHeader('Connection', 'close');
      if (request.url!.includes('watch=true')) {
        response.flushHeaders();
        streamed = (text) => void response.end(text);
        await once(response, 'close');
      } else {
        response.end(JSON.stringify({ metadata: { name: 'default' } }));
      }
    },
  });
  const { port } = await server.listen({ host: '127.0.0.1', port: 0, certificate });
  await replace(authority.cert);
  const client = RestClient.connect(serverOf(`https://127.0.0.1:${port}`));
  const get = async (): Promise<string | undefined> =>
    (await client.get(namespaces, { namespace: '', name: 'default' })).metadata.name;
  expect(await get()).toBe('default');
  const watch = await client.watch(namespaces, { resourceVersion: '7' });
  certificate.replace(await issueCertificate(next, ['127.0.0.1']));
  await expect(get()).rejects.toMatchObject({ code: 503 });
  await replace('half a certificate');
  for (let tries = 0; tries < 2; tries += 1) await expect(get()).rejects.toMatchObject({ code: 503 });
  expect(warnings).toEqual(['ERR_OSSL_PEM_NO_START_LINE']);
  await replace(next.cert);
  expect(await get()).toBe('default');
  streamed!(`${JSON.stringify(added)}\n`);
  for await (const event of watch) {
    expect(event).toMatchObject(added);
    break;
  }
  client.close();
  await server.close({ drainTimeoutMs: 1000 });
}, 60_000);

test.each([
  ['that is missing', undefined, /^svc\.access\.ca-file is ".*ca\.crt", which cannot be used \(ENOENT\)/],
  [
    'without an authority',
    'x',
    /^svc\.access\.ca-file is ".*ca\.crt", which cannot be used \(ERR_OSSL_PEM_NO_START_LINE\)/,
  ],
])('a file %s is refused at the start', async (_reason, text, says) => {
  if (text !== undefined) await writeFile(caFile, text);
  expect(() => serverOf('https://127.0.0.1:1')).toThrow(says);
});
