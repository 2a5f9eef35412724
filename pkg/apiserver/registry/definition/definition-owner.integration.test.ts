import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '#pkg/testenv/index';

let env: TestEnv;

beforeAll(async () => {
  env = await startTestEnv();
});
afterAll(() => env?.stop());

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const plugins = '/apis/plugin.svc.run/v1alpha1/plugins';

async function call(
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; body: { reason?: string; message?: string; metadata: Record<string, unknown> } }> {
  const headers = method === 'PATCH' ? { headers: { 'content-type': 'application/merge-patch+json' } } : {};
  const answer = await env.request(path, { method, ...headers, ...(body === undefined ? {} : { body }) });
  return { status: answer.status, body: (await answer.json()) as never };
}

async function define(plural: string, labels: Record<string, string>): Promise<string> {
  const name = `${plural}.owned.example.com`;
  const body = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name, labels },
    spec: {
      group: 'owned.example.com',
      scope: 'Cluster',
      names: { plural, kind: plural[0]!.toUpperCase() + plural.slice(1) },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
    },
  };
  expect((await call('POST', definitions, body)).status).toBe(201);
  return `${definitions}/${name}`;
}

const install = (name: string, finalizers: string[] = []) =>
  call('POST', plugins, {
    apiVersion: 'plugin.svc.run/v1alpha1',
    kind: 'Plugin',
    metadata: { name, finalizers },
    spec: { version: '1.0.0' },
  });

test('a plugin’s definition can be deleted when the plugin is gone, not before', async () => {
  const path = await define('posts', { 'svc.run/plugin': 'blog' });
  await install('blog', ['example.com/stop']);
  for (const query of ['', '?dryRun=All', '?propagationPolicy=Orphan']) {
    const { status, body } = await call('DELETE', path + query);
    expect([status, body.reason]).toEqual([403, 'Forbidden']);
    expect(body.message).toMatch(
      /^customresourcedefinitions\.apiextensions\.k8s\.io "posts\.owned\.example\.com" is forbidden: it belongs to the plugin "blog", .*: delete the plugin first/,
    );
  }
  expect((await call('GET', path)).body.metadata).not.toHaveProperty('deletionTimestamp');
  // A plugin that is being stopped still exists.
  expect((await call('DELETE', `${plugins}/blog`)).status).toBe(200);
  expect((await call('DELETE', path)).status).toBe(403);
  expect((await call('PATCH', `${plugins}/blog`, { metadata: { finalizers: null } })).status).toBe(200);
  expect((await call('DELETE', path)).status).toBe(200);
});

test('the definitions of a plugin are not deleted with a collection', async () => {
  const owned = await define('pages', { 'svc.run/plugin': 'site', set: 'x' });
  await install('site');
  const { status, body } = await call('DELETE', `${definitions}?labelSelector=set%3Dx`);
  expect([status, body.message]).toEqual([403, expect.stringMatching(/belongs to the plugin "site"/)]);
  expect((await call('GET', owned)).body.metadata).not.toHaveProperty('deletionTimestamp');
});

test.each([
  ['of no plugin', {}],
  ['of a plugin that does not exist', { 'svc.run/plugin': 'gone' }],
  ['with an empty label', { 'svc.run/plugin': '' }],
  ['with a label that is not a valid name', { 'svc.run/plugin': 'No_Name' }],
] as const)('a definition %s can be deleted', async (_case, labels) => {
  expect((await call('DELETE', await define('things', labels))).status).toBe(200);
  while ((await call('GET', `${definitions}/things.owned.example.com`)).status !== 404) await new Promise(setImmediate);
});

test('a deletion in progress continues if a plugin is installed meanwhile', async () => {
  const path = await define('holds', { 'svc.run/plugin': 'late' });
  expect((await call('PATCH', path, { metadata: { finalizers: ['example.com/held'] } })).status).toBe(200);
  expect((await call('DELETE', path)).status).toBe(200);
  await install('late');
  expect((await call('DELETE', path)).status).toBe(200);
  expect((await call('PATCH', path, { metadata: { finalizers: null } })).status).toBe(200);
});
