import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newPersonalToken } from '#pkg/identity/index';
import { startTestEnv, type TestEnv } from '#pkg/testenv/index';
import { findServer, type ServerSources } from './find-server.ts';
import { writeKubeconfig } from '../tls/kubeconfig.ts';

let env: TestEnv;
let folder: string;
let closedPort: number;

beforeAll(async () => {
  env = await startTestEnv();
  folder = await mkdtemp(join(tmpdir(), 'svc-find-'));
  for (const name of ['data', 'other', 'empty', 'config']) await mkdir(join(folder, name));
  await writeFile(join(folder, 'data/admin-token'), `${env.token}\n`);
  await writeFile(join(folder, 'other/admin-token'), 'wrong\n');
  await writeFile(
    join(folder, 'config/svc.yaml'),
    `svc: { server: { port: ${portOf(env.url)} }, data: { dir: ${join(folder, 'data')} } }`,
  );
  closedPort = await portThatIsClosed();
});
afterAll(async () => {
  await env?.stop();
  await rm(folder, { recursive: true, force: true });
});

const portOf = (url: string): string => new URL(url).port;

async function portThatIsClosed(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function find(sources: Partial<ServerSources>): Promise<string> {
  const { url, client } = await findServer({ args: [], environment: {}, ...sources });
  client.close();
  return url;
}

const data = (name = 'data'): string => `--svc.data.dir=${join(folder, name)}`;

test.each<[string, () => Partial<ServerSources>]>([
  ['flags', () => ({ args: [`--svc.server.port=${portOf(env.url)}`, data()] })],
  [
    'the environment',
    () => ({ environment: { SVC_SERVER_PORT: portOf(env.url), SVC_DATA_DIR: join(folder, 'data') } }),
  ],
  ['files', () => ({ config: join(folder, 'config') })],
  ['a name', () => ({ server: env.url, args: [data()] })],
  [
    'a name and a token',
    () => ({
      server: env.url,
      tokenFile: join(folder, 'data/admin-token'),
      environment: { SVC_UNKNOWN: 'of another program' },
    }),
  ],
  [
    'the URL that a controller-manager has',
    () => ({ args: ['--svc.server.port=0', `--svc.controllers.api-url=${env.url}`, data()] }),
  ],
])('a server is found by %s', async (_way, sources) => {
  expect(await find(sources())).toBe(env.url);
});

test('a kubeconfig that this program has not written is ignored', async () => {
  await writeFile(join(folder, 'empty/kubeconfig'), JSON.stringify({ clusters: [{ cluster: { server: env.url } }] }));
  await expect(find({ args: ['--svc.server.port=0', data('empty')] })).rejects.toThrow(
    'No server answers. Tried: nothing, as svc.server.port is 0',
  );
});

test('an error lists what was tried, with the options that led there', async () => {
  await writeKubeconfig(join(folder, 'other/kubeconfig'), {
    url: `https://127.0.0.1:${closedPort}`,
    token: newPersonalToken(),
  });
  const at = `http://127.0.0.1:${closedPort}`;
  await expect(
    find({ args: [`--svc.server.port=${portOf(env.url)}`, data('other'), `--svc.controllers.api-url=${at}`] }),
  ).rejects.toMatchObject({
    name: 'OperatorError',
    message:
      `No server answers. Tried: ${env.url} (svc.server.host and svc.server.port): it does not know the token; ` +
      `https://127.0.0.1:${closedPort} (${join(folder, 'other/kubeconfig')}): ECONNREFUSED; ${at} (svc.controllers.api-url): ECONNREFUSED. ` +
      'Start it, give the options that it was started with, or name it with --server and --token-file.',
  });
  await expect(find({ args: [`--svc.server.port=${closedPort}`, data('empty')] })).rejects.toThrow(
    /svc\.server\.port\): The token cannot be read from .*admin-token \(ENOENT\); name its file with --token-file\. Start it/,
  );
});

test('a mistake in an option is reported first', async () => {
  await expect(find({ args: ['--svc.server.prt=1'] })).rejects.toThrow('did you mean --svc.server.port?');
  await expect(find({ server: env.url, tokenFile: join(folder, 'data/admin-token'), args: ['word'] })).rejects.toThrow(
    'neither a command nor an option',
  );
});
