import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { chain, HttpServer, noteForwarded, withRequestId, withStatus, type ServiceForwarder } from '#pkg/http/index';
import { loadOptions } from '../options/load-options.ts';
import { Teardown } from '../process/teardown.ts';
import { issueCertificate, makeAuthority } from '../tls/local-authority.ts';
import { accessForwarder } from './access-forwarder.ts';

const log = pino({ level: 'silent' });
const teardown = new Teardown(log);
const proof = { prove: () => 'proof', check: () => undefined };

let folder: string;
let caFile: string;
let service: Server;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-access-forwarder-'));
  const authority = await makeAuthority();
  const pair = await issueCertificate(authority, ['127.0.0.1']);
  caFile = join(folder, 'ca.crt');
  await writeFile(caFile, authority.cert);
  await writeFile(join(folder, 'other.crt'), (await makeAuthority()).cert);
  service = createServer({ key: pair.key, cert: pair.cert }, (request, response) => response.end(request.url)).listen(
    0,
    '127.0.0.1',
  );
  await once(service, 'listening');
});
afterAll(async () => {
  await teardown.run();
  service.closeAllConnections();
  service.close();
  await rm(folder, { recursive: true });
});

function forwarderOf(args: readonly string[]): ServiceForwarder | undefined {
  return accessForwarder(loadOptions({ environment: {}, args }).options, { log, teardown });
}

async function answerThrough(forwarder: ServiceForwarder, path: string): Promise<[number, string]> {
  const handler = forwarder.handler(proof);
  const server = new HttpServer({
    handler: chain([withRequestId(), withStatus()], (context) => {
      noteForwarded(context.request, { clientAddress: context.clientAddress, origin: 'http://a' });
      return handler(context);
    }),
    log,
  });
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  const answer = await fetch(`http://127.0.0.1:${port}${path}`);
  const text = await answer.text();
  await server.close({ drainTimeoutMs: 0 });
  return [answer.status, text];
}

test('forwards by TLS to the service whose authority is named, and to no other', async () => {
  const url = `--svc.server.access-url=https://127.0.0.1:${(service.address() as AddressInfo).port}`;
  const trusting = forwarderOf([url, `--svc.server.access-ca-file=${caFile}`])!;
  expect(await answerThrough(trusting, '/login/?a=%2f')).toEqual([200, '/login/?a=%2f']);
  const strict = forwarderOf([url, `--svc.server.access-ca-file=${join(folder, 'other.crt')}`])!;
  const [status, text] = await answerThrough(strict, '/login/');
  expect(status).toBe(503);
  expect(text).not.toContain('/login/');
});

test('without a URL there is nothing to forward to; an unusable option is told', () => {
  expect(forwarderOf([])).toBeUndefined();
  expect(() => forwarderOf(['--svc.server.access-url=http://a/path'])).toThrow('svc.server.access-url');
  expect(() => forwarderOf(['--svc.server.access-url=https://a', '--svc.server.access-ca-file=/nowhere'])).toThrow(
    'svc.server.access-ca-file',
  );
});
