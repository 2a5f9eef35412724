import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { call, retryUntilPasses, mergePatch } from './api-call.ts';
import {
  anySpec,
  changeDefinition,
  createOrThrow,
  definitionsPath,
  schemaWithSpec,
  onEveryServer,
  register,
  version,
  type Registered,
  type Schema,
} from './models-definition.ts';

let env: TestEnv;
let posts: Registered;
const at = (name: string, path = posts.path): string => path.replace('/v1/', `/${name}/`);

beforeAll(async () => {
  env = await startTestEnv({ replicas: 2 });
  const both: Schema = { type: 'object', properties: { both: { type: 'string' } } };
  posts = await register(env, {
    versions: [
      version('v1', schemaWithSpec({ ...both, properties: { both: { type: 'string' }, one: { type: 'string' } } })),
      version('v1beta1', schemaWithSpec(both), { storage: false, deprecated: true }),
      version('v1alpha1', schemaWithSpec(both), {
        storage: false,
        deprecated: true,
        deprecationWarning: 'go "on" to v1',
      }),
      version('v2', schemaWithSpec(both), { storage: false, served: false }),
    ],
  });
  await onEveryServer(env, at('v1beta1'), 200);
});

afterAll(() => env?.stop());

test('an object can be read in every version, with the apiVersion of the path', async () => {
  const created = await createOrThrow(env, posts.path, posts.object('a', { both: 'b', one: '1' }));
  for (const name of ['v1', 'v1beta1', 'v1alpha1']) {
    const read = await call(env, `${at(name)}/a`, { server: 1 });
    expect(read.body).toMatchObject({
      apiVersion: `${posts.group}/${name}`,
      metadata: { uid: created.metadata.uid, resourceVersion: created.metadata.resourceVersion },
    });
    expect(read.body.spec).toEqual(name === 'v1' ? { both: 'b', one: '1' } : { both: 'b' });
    const list = await call(env, at(name));
    expect([list.body.apiVersion, ...list.body.items.map(({ apiVersion }) => apiVersion)]).toEqual(
      Array.from({ length: 1 + list.body.items.length }, () => `${posts.group}/${name}`),
    );
  }
});

test('an object that is written in one version is read in another', async () => {
  const body = {
    apiVersion: `${posts.group}/v1beta1`,
    kind: 'Post',
    metadata: { name: 'through' },
    spec: { both: 'x', one: 'pruned' },
  };
  const created = await createOrThrow(env, at('v1beta1'), body);
  expect(created.apiVersion).toBe(`${posts.group}/v1beta1`);
  expect((await call(env, `${posts.path}/through`)).body.spec).toEqual({ both: 'x' });
  const exists = await call(env, posts.path, { method: 'POST', body: posts.object('through') });
  expect(exists.status).toBe(409);
});

test('a body of another version is 400', async () => {
  const answer = await call(env, at('v1beta1'), { method: 'POST', body: posts.object('mixed') });
  expect([answer.status, answer.body.message]).toEqual([
    400,
    expect.stringContaining('does not match the expected API version'),
  ]);
});

test.each([
  ['v1beta1', (group: string) => `${group}/v1beta1 Post is deprecated; use ${group}/v1 Post`],
  ['v1alpha1', () => 'go "on" to v1'],
])('the deprecated %s warns on every verb', async (name, text) => {
  await createOrThrow(env, posts.path, posts.object(`warned-${name}`));
  const one = `${at(name)}/warned-${name}`;
  const answers = await Promise.all([
    call(env, at(name)),
    call(env, one),
    call(env, one, { method: 'PATCH', headers: mergePatch, body: { metadata: { labels: { a: 'b' } } } }),
    call(env, at(name), {
      method: 'POST',
      body: { apiVersion: `${posts.group}/${name}`, kind: 'Post', metadata: { name: `made-${name}` } },
    }),
  ]);
  const watch = await call(env, `${at(name)}?watch=true&timeoutSeconds=1`);
  const deleted = await call(env, one, { method: 'DELETE' });
  for (const { warnings } of [...answers, watch, deleted]) expect(warnings).toContain(text(posts.group));
  expect((await call(env, posts.path)).warnings).toEqual([]);
});

test('an unserved or unknown version is 404 on every verb', async () => {
  for (const name of ['v2', 'v9']) {
    const path = at(name);
    const body = { apiVersion: `${posts.group}/${name}`, kind: 'Post', metadata: { name: 'x' } };
    const answers = await Promise.all([
      call(env, path),
      call(env, `${path}?watch=true&timeoutSeconds=1`),
      call(env, path, { method: 'POST', body }),
      call(env, path, { method: 'DELETE' }),
      call(env, `${path}/a`),
      call(env, `${path}/a`, { method: 'PUT', body }),
      call(env, `${path}/a`, { method: 'PATCH', headers: mergePatch, body: {} }),
      call(env, `${path}/a`, { method: 'DELETE' }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 404));
  }
  expect((await call(env, `${posts.path}/a`)).status).toBe(200);
});

describe('a definition that changes while the server runs', () => {
  test('a version can become served, and unserved', async () => {
    const model = await register(env, {
      versions: [
        version('v1', schemaWithSpec(anySpec)),
        version('v2', schemaWithSpec(anySpec), { storage: false, served: false }),
      ],
    });
    await createOrThrow(env, model.path, model.object('a'));
    const { name } = model.definition.metadata;
    await onEveryServer(env, at('v2', model.path), 404);
    for (const served of [true, false, true]) {
      await changeDefinition(env, name, ({ spec }) => {
        spec.versions[1]!['served'] = served;
      });
      await onEveryServer(env, `${at('v2', model.path)}/a`, served ? 200 : 404);
    }
  });

  test('objects that are stored in another storage version stay readable and writable', async () => {
    const model = await register(env, {
      versions: [version('v1', schemaWithSpec(anySpec)), version('v2', schemaWithSpec(anySpec), { storage: false })],
    });
    const before = await createOrThrow(env, model.path, model.object('old', { a: 1 }));
    await changeDefinition(env, model.definition.metadata.name, ({ spec }) => {
      spec.versions[0]!['storage'] = false;
      spec.versions[1]!['storage'] = true;
    });
    await retryUntilPasses(async () => {
      const { status } = (await call(env, `${definitionsPath}/${model.definition.metadata.name}`)).body;
      expect((status as { storedVersions: string[] }).storedVersions).toEqual(['v1', 'v2']);
    });
    await createOrThrow(env, model.path, model.object('new', { a: 2 }));
    const list = await call(env, at('v2', model.path), { server: 1 });
    expect(list.body.items.map(({ apiVersion, spec }) => [apiVersion, spec['a']])).toEqual([
      [`${model.group}/v2`, 2],
      [`${model.group}/v2`, 1],
    ]);
    const same = await call(env, `${model.path}/old`, {
      method: 'PUT',
      body: (await call(env, `${model.path}/old`)).body,
    });
    expect([same.status, same.body.metadata.uid]).toEqual([200, before.metadata.uid]);
  });
});
