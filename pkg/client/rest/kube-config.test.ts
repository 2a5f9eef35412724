import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
// Its thousand modules take longer to load than the limit of a test on a busy machine.
import { KubeConfig } from '@kubernetes/client-node';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { ResourceType } from '#pkg/apimachinery/index';
import { loadKubeConfig } from './kube-config.ts';
import { RestClient } from './rest-client.ts';
import { answerJson, startScriptedServer, testCertificate, type ScriptedServer } from './start-scripted-server.ts';

const namespaces: ResourceType = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
  hasStatusSubresource: true,
};
const key = { namespace: '', name: 'default' };

let folder: string;
let peer: ScriptedServer;
let client: RestClient | undefined;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-kubeconfig-'));
  peer = await startScriptedServer((response, request) => {
    if (request.headers.authorization === 'Bearer old')
      answerJson(response, 401, { kind: 'Status', reason: 'Unauthorized' });
    else answerJson(response, 200, { metadata: { name: 'default' } });
  });
});
afterEach(() => client?.close());
afterAll(async () => {
  await peer.stop();
  rmSync(folder, { recursive: true });
});

async function clientFor(user: object, cluster: object = {}): Promise<RestClient> {
  const file = join(folder, 'config');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server: peer.url, 'insecure-skip-tls-verify': true, ...cluster } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
  writeFileSync(file, JSON.stringify(config));
  client = RestClient.fromKubeConfig(await loadKubeConfig(file));
  return client;
}

describe('the user of the current context', () => {
  test.each([
    ['a token', { token: 'pat_a' }, 'Bearer pat_a'],
    ['a password', { username: 'ann', password: 'p:w' }, `Basic ${Buffer.from('ann:p:w').toString('base64')}`],
    ['nothing', {}, undefined],
  ])('has %s', async (_reason, user, authorization) => {
    const api = await clientFor(user);
    expect((await api.get(namespaces, key)).metadata.name).toBe('default');
    expect(peer.requests.at(-1)!.headers.authorization).toBe(authorization);
  });

  test('has a program, which runs once, and again when its credential is refused', async () => {
    const counter = join(folder, 'counter');
    const program = join(folder, 'credentials.mjs');
    writeFileSync(
      program,
      `import { appendFileSync, readFileSync } from 'node:fs';
       appendFileSync(${JSON.stringify(counter)}, 'x');
       const token = readFileSync(${JSON.stringify(counter)}, 'utf8').length === 1 ? 'old' : 'new';
       const expirationTimestamp = new Date(0).toISOString();
       console.log(JSON.stringify({ kind: 'ExecCredential', status: { token, expirationTimestamp } }));`,
    );
    const api = await clientFor({
      exec: { apiVersion: 'client.authentication.k8s.io/v1', command: process.execPath, args: [program] },
    });
    await expect(api.get(namespaces, key)).rejects.toMatchObject({ code: 401 });
    await api.get(namespaces, key);
    await Promise.all(Array.from({ length: 5 }, () => api.get(namespaces, key)));
    expect(peer.requests.at(-1)!.headers.authorization).toBe('Bearer new');
    expect(readFileSync(counter, 'utf8')).toBe('xx');
  });

  test('has a program that fails: 503 with the cause', async () => {
    const api = await clientFor({
      exec: { apiVersion: 'client.authentication.k8s.io/v1', command: join(folder, 'absent'), args: [] },
    });
    await expect(api.get(namespaces, key)).rejects.toMatchObject({
      code: 503,
      cause: expect.objectContaining({ code: 'ENOENT' }),
    });
  });
});

test('TLS is checked against the certificate that is named', async () => {
  const secure = await startScriptedServer((response) => answerJson(response, 200, { metadata: { name: 'default' } }), {
    isSecure: true,
  });
  const trusting = RestClient.connect({ url: secure.url, token: 'a', ca: testCertificate });
  expect((await trusting.get(namespaces, key)).metadata.name).toBe('default');
  trusting.close();
  const strange = RestClient.connect({ url: secure.url, token: 'a' });
  await expect(strange.get(namespaces, key)).rejects.toMatchObject({
    code: 503,
    cause: expect.objectContaining({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }),
  });
  strange.close();
  const named = {
    server: secure.url,
    'insecure-skip-tls-verify': false,
    'certificate-authority-data': Buffer.from(testCertificate).toString('base64'),
  };
  expect((await (await clientFor({ token: 'a' }, named)).get(namespaces, key)).metadata.name).toBe('default');
  client?.close();
  await expect(
    (await clientFor({ token: 'a' }, { ...named, 'tls-server-name': 'example.com' })).get(namespaces, key),
  ).rejects.toMatchObject({ code: 503 });
  await secure.stop();
});

test('plain http needs an explicit option', async () => {
  const api = await clientFor({ token: 'a' }, { 'insecure-skip-tls-verify': false });
  await expect(api.get(namespaces, key)).rejects.toMatchObject({
    code: 503,
    message: expect.stringContaining('HTTP protocol is not allowed'),
  });
});

test('a missing server and an invalid server are reported at once', () => {
  expect(() => RestClient.fromKubeConfig(new KubeConfig())).toThrow(TypeError);
  expect(() => RestClient.connect({ url: 'ftp://a' })).toThrow(TypeError);
  expect(() => RestClient.connect({ url: 'a' })).toThrow('Invalid URL');
});

test('modules that do not need the Kubernetes client do not load it', () => {
  const refuse = `export async function resolve(name, context, next) { if (name.includes('client-node')) throw new Error('it is loaded'); return next(name, context); }`;
  const hook = `import { register } from 'node:module'; register('data:text/javascript,' + ${JSON.stringify(encodeURIComponent(refuse))});`;
  const script = `
    const { RestClient, loadKubeConfig } = await import('#pkg/client/index');
    RestClient.connect({ url: 'http://127.0.0.1:1' }).close();
    process.stdout.write(await loadKubeConfig('x').catch((error) => error.message));`;
  const { stdout } = spawnSync(
    process.execPath,
    [
      '--conditions=source',
      '--import',
      'tsx',
      '--import',
      `data:text/javascript,${encodeURIComponent(hook)}`,
      '--input-type=module',
      '-e',
      script,
    ],
    { encoding: 'utf8' },
  );
  expect(stdout).toBe('it is loaded');
});
