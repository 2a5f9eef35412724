import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { pause } from '#pkg/apimachinery/index';
import { newPersonalToken } from '#pkg/identity/index';
import { createTestDatabase, type TestDatabase } from '../../../pkg/testenv/test-database.ts';
import { loadOptions } from '../options/load-options.ts';
import { pluginHostUrl } from './plugin-endpoints.ts';
import { killPrograms, Program } from '../start-test-program.ts';

const token = newPersonalToken();
const open = '/apis/api.greet.example.com/v1/greetings/ann';
const closed = '/apis/console.api.greet.example.com/v1/greetings/ann';
const admin = { headers: { authorization: `Bearer ${token}`, 'content-type': 'application/merge-patch+json' } };

const manifest = `
apiVersion: plugin.svc.run/v1alpha1
kind: Plugin
metadata: { name: greet }
spec: { version: 1.0.0, enabled: true }
`;
const source = `
import { definePlugin, defineEndpoint, EndpointAnswer, newConflict, Type } from '@svc/sdk';
const about = { group: 'greet.example.com', version: 'v1' };
export default definePlugin({ endpoints: [
  defineEndpoint({ ...about, audience: 'public', method: 'GET', path: '/greetings/{name}', summary: 'Greet somebody', query: Type.Object({ loud: Type.Optional(Type.Boolean()) }),
    handler: async ({ params, query, user }) => ({ text: query.loud === true ? params.name.toUpperCase() : params.name, by: user.name }) }),
  defineEndpoint({ ...about, audience: 'console', method: 'PUT', path: '/greetings/{name}', body: Type.Object({ text: Type.String({ maxLength: 5 }) }),
    handler: async ({ params, body, user }) => {
      if (body.text === 'taken') throw newConflict({ group: about.group, resource: 'greetings' }, params.name, 'it is taken');
      return new EndpointAnswer({ status: 201, headers: { location: '/x' }, body: { text: body.text, by: user.name } });
    } }),
] });
`;

let home: TestDatabase;
let folder: string;
beforeAll(async () => {
  home = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'svc-endpoints-'));
  await chmod(folder, 0o711);
  await mkdir(join(folder, 'plugins/greet'), { recursive: true });
  await writeFile(join(folder, 'plugins/greet/plugin.yaml'), manifest);
  await writeFile(join(folder, 'plugins/greet/index.js'), source);
  await writeFile(join(folder, 'token'), `${token}\n`, { mode: 0o600 });
});
afterEach(killPrograms);
afterAll(async () => {
  await home.drop();
  await rm(folder, { recursive: true, force: true });
});

async function start(command: 'serve' | 'apiserver', name: string): Promise<string> {
  const { connectionString, host, port, user } = home.connection;
  const database = connectionString ?? `postgres://${user}@${encodeURIComponent(String(host))}:${port}/${home.name}`;
  const program = new Program([
    command,
    '--svc.server.port=0',
    `--svc.data.dir=${join(folder, name)}`,
    `--svc.plugins.dir=${join(folder, 'plugins')}`,
    `--svc.database.url=${database}`,
    `--svc.security.initial-admin-token=${token}`,
  ]);
  return String((await program.line('ready'))['url']);
}

/** Retries until the response has this status. */
async function answer(url: string, status: number, init: RequestInit = {}): Promise<Response> {
  const deadline = performance.now() + 60_000;
  for (;;) {
    const got = await fetch(url, init);
    if (got.status === status) return got;
    if (performance.now() > deadline) throw new Error(`${url} gave ${got.status}: ${await got.text()}`);
    await pause(50);
  }
}

async function checkAll(servers: readonly string[]): Promise<void> {
  for (const url of servers) {
    expect(await (await answer(`${url}${open}?loud=true`, 200)).json()).toEqual({
      text: 'ANN',
      by: 'system:anonymous',
    });
    expect(await (await fetch(`${url}${open}?loud=perhaps`)).json()).toMatchObject({
      code: 422,
      details: { causes: [{ field: 'query.loud' }] },
    });
    expect((await fetch(`${url}${closed}`, { method: 'PUT', body: '{}' })).status).toBe(401);
    const put = (text: string): Promise<Response> =>
      fetch(`${url}${closed}`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ text }),
      });
    const created = await put('hello');
    expect([created.status, created.headers.get('location'), await created.json()]).toEqual([
      201,
      '/x',
      { text: 'hello', by: 'admin' },
    ]);
    expect(await (await put('taken')).json()).toMatchObject({ kind: 'Status', code: 409, reason: 'Conflict' });
    expect((await put('longer')).status).toBe(422);
    const reference = (await (await fetch(`${url}/docs/openapi/public.json`)).json()) as { paths: object };
    expect(Object.keys(reference.paths)).toContain('/apis/api.greet.example.com/v1/greetings/{name}');
  }
}

test('a plugin in its own process answers through every API server, until one PATCH disables it', async () => {
  const servers = [await start('apiserver', 'a'), await start('apiserver', 'b')];
  const manager = new Program([
    'controller-manager',
    '--svc.controllers.port=0',
    `--svc.data.dir=${join(folder, 'm')}`,
    `--svc.plugins.dir=${join(folder, 'plugins')}`,
    `--svc.controllers.api-url=${servers[0]!}`,
    `--svc.controllers.token-file=${join(folder, 'token')}`,
  ]);
  await checkAll(servers);
  const { port } = await manager.line('ready');
  expect(
    (await fetch(`http://127.0.0.1:${String(port)}/plugin-endpoints/greet/x`, { method: 'POST', body: '{}\n' })).status,
  ).toBe(401);
  const switched = (enabled: boolean): Promise<Response> =>
    fetch(`${servers[1]!}/apis/plugin.svc.run/v1alpha1/plugins/greet`, {
      ...admin,
      method: 'PATCH',
      body: JSON.stringify({ spec: { enabled } }),
    });
  expect((await switched(false)).status).toBe(200);
  for (const url of servers) await answer(`${url}${open}`, 401);
  await switched(true);
  for (const url of servers) await answer(`${url}${open}`, 200);
  manager.child.kill('SIGKILL');
  await manager.exited;
  for (const url of servers) expect((await answer(`${url}${open}`, 503)).headers.get('retry-after')).toBe('2');
});

test('it answers in its process, and through the others', async () => {
  const servers = [await start('serve', 'c'), await start('serve', 'd'), await start('apiserver', 'e')];
  await checkAll(servers);
});

test.each([
  ['the address', {}, 'http://127.0.0.1:7'],
  ['any address', { 'svc.server.host': '0.0.0.0' }, /^http:\/\/[^:/]+:7$/],
  ['an address of version 6', { 'svc.server.host': 'fd00::1' }, 'http://[fd00::1]:7'],
  [
    'the configured one',
    { 'svc.plugins.host-url': 'https://plugins.internal:444/x' },
    'https://plugins.internal:444/x',
  ],
])('the URL of a host is %s', (_reason, given, url) => {
  const { options } = loadOptions({
    environment: {},
    args: Object.entries(given).map(([name, value]) => `--${name}=${value}`),
  });
  expect(pluginHostUrl(options, 7)).toEqual(typeof url === 'string' ? url : expect.stringMatching(url));
});

test.each(['nowhere', 'ftp://x', 'http://a:b@x', 'http://x?y'])('%s is not the URL of a host', (url) => {
  const { options } = loadOptions({ environment: {}, args: [`--svc.plugins.host-url=${url}`] });
  expect(() => pluginHostUrl(options, 7)).toThrow(/^svc.plugins.host-url is /);
});
