import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { call, retryUntilPasses, mergePatch, type ApiBody } from './api-call.ts';
import {
  conditionsOf,
  createOrThrow,
  newDefinition,
  definitionsPath,
  onEveryServer,
  register,
} from './models-definition.ts';

let env: TestEnv;

beforeAll(async () => {
  env = await startTestEnv({ replicas: 2 });
});

afterAll(() => env?.stop());

const removeDefinition = (name: string, body?: unknown): ReturnType<typeof call> =>
  call(env, `${definitionsPath}/${name}`, { method: 'DELETE', ...(body === undefined ? {} : { body }) });

describe('deleting a definition', () => {
  test('deletes its objects, requests get 404, and a new registration starts empty', async () => {
    const posts = await register(env);
    const { name } = posts.definition.metadata;
    const created = await createOrThrow(env, posts.path, posts.object('a'));
    const answer = await removeDefinition(name);
    expect(answer.status).toBe(200);
    await onEveryServer(env, posts.path, 404);
    await retryUntilPasses(async () => expect((await call(env, `${definitionsPath}/${name}`)).status).toBe(404));
    await register(env, posts.definition);
    await onEveryServer(env, `${posts.path}/a`, 404);
    expect((await call(env, posts.path)).body.items).toEqual([]);
    const again = await createOrThrow(env, posts.path, posts.object('a'));
    expect(again.metadata.uid).not.toBe(created.metadata.uid);
    expect(BigInt(again.metadata.resourceVersion)).toBeGreaterThan(BigInt(created.metadata.resourceVersion));
  });

  test('waits for finalizers; meanwhile create is 403, and read, update and delete work', async () => {
    const posts = await register(env);
    const { name } = posts.definition.metadata;
    await createOrThrow(env, posts.path, {
      ...posts.object('held'),
      metadata: { name: 'held', finalizers: ['example.com/hold'] },
    });
    await createOrThrow(env, posts.path, posts.object('free'));
    const answer = await removeDefinition(name);
    expect(answer.status).toBe(200);
    expect(answer.body.metadata.finalizers).toContain('customresourcecleanup.apiextensions.k8s.io');
    expect(answer.body.metadata.deletionTimestamp).toBeDefined();
    await retryUntilPasses(async () => expect((await conditionsOf(env, name))['Terminating']?.status).toBe('True'));
    await onEveryServer(env, `${posts.path}/free`, 404);
    for (const server of [0, 1]) {
      const refused = await call(env, posts.path, { server, method: 'POST', body: posts.object('late') });
      expect([refused.status, refused.body.reason]).toEqual([403, 'Forbidden']);
      expect(refused.body.message).toContain('create not allowed while custom resource definition is terminating');
    }
    const held = await call(env, `${posts.path}/held`);
    expect(held.body.metadata.deletionTimestamp).toBeDefined();
    const released = await call(env, `${posts.path}/held`, {
      method: 'PATCH',
      headers: mergePatch,
      body: { metadata: { finalizers: null } },
    });
    expect(released.status).toBe(200);
    await retryUntilPasses(async () => expect((await call(env, `${definitionsPath}/${name}`)).status).toBe(404));
    await onEveryServer(env, posts.path, 404);
  });

  test('waits for the definition’s own finalizers too; posted again meanwhile it is 409', async () => {
    const wanted = newDefinition();
    wanted.metadata['finalizers'] = ['example.com/own'];
    const posts = await register(env, wanted);
    const { name } = wanted.metadata;
    await createOrThrow(env, posts.path, posts.object('a'));
    expect((await removeDefinition(name)).body.metadata.deletionTimestamp).toBeDefined();
    await retryUntilPasses(async () =>
      expect((await call(env, `${definitionsPath}/${name}`)).body.metadata.finalizers).toEqual(['example.com/own']),
    );
    expect((await call(env, `${posts.path}/a`)).status).toBe(404);
    for (const server of [0, 1])
      expect([403, 404]).toContain(
        (await call(env, posts.path, { server, method: 'POST', body: posts.object('b') })).status,
      );
    expect(
      (await call(env, definitionsPath, { method: 'POST', body: newDefinition({ group: posts.group }) })).status,
    ).toBe(409);
    await call(env, `${definitionsPath}/${name}`, {
      method: 'PATCH',
      headers: mergePatch,
      body: { metadata: { finalizers: null } },
    });
    await retryUntilPasses(async () => expect((await call(env, `${definitionsPath}/${name}`)).status).toBe(404));
    await onEveryServer(env, posts.path, 404);
  });

  test('obeys its preconditions', async () => {
    const posts = await register(env);
    const { name } = posts.definition.metadata;
    expect((await removeDefinition(name, { preconditions: { uid: 'other' } })).status).toBe(409);
    expect((await call(env, `${definitionsPath}/${name}?dryRun=All`, { method: 'DELETE' })).status).toBe(200);
    await onEveryServer(env, posts.path, 200);
    expect((await removeDefinition('absent.example.com')).status).toBe(404);
  });

  test('with reads under way answers 200 or 404, never a 5xx', async () => {
    const posts = await register(env);
    await Promise.all(Array.from({ length: 40 }, (_, i) => createOrThrow(env, posts.path, posts.object(`p${i}`))));
    const reads = Promise.all(
      Array.from({ length: 200 }, (_, i) =>
        call(env, i % 2 ? posts.path : `${posts.path}/p${i % 40}`, { server: i % 2 }),
      ),
    );
    await removeDefinition(posts.definition.metadata.name);
    const codes = new Set((await reads).map(({ status }) => status));
    expect([...codes].filter((code) => code !== 200 && code !== 404)).toEqual([]);
    await onEveryServer(env, posts.path, 404);
  });
});

test('works twenty times in a row, and both servers register and remove the model each time', async () => {
  const wanted = newDefinition();
  const path = `/apis/${wanted.spec.group}/v1/posts`;
  const seen: ApiBody[] = [];
  for (let i = 0; i < 20; i += 1) {
    await register(env, wanted);
    seen.push(
      await createOrThrow(env, path, { apiVersion: `${wanted.spec.group}/v1`, kind: 'Post', metadata: { name: 'a' } }),
    );
    await removeDefinition(wanted.metadata.name);
    await onEveryServer(env, path, 404);
    await retryUntilPasses(async () =>
      expect((await call(env, `${definitionsPath}/${wanted.metadata.name}`)).status).toBe(404),
    );
  }
  expect(new Set(seen.map(({ metadata }) => metadata.uid)).size).toBe(20);
});
