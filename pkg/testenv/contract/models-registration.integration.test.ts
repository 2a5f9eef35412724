import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { call, retryUntilPasses } from './api-call.ts';
import {
  anySpec,
  changeDefinition,
  createOrThrow,
  newDefinition,
  definitionsPath,
  newGroup,
  schemaWithSpec,
  onEveryServer,
  register,
  version,
  type Definition,
} from './models-definition.ts';

let env: TestEnv;

beforeAll(async () => {
  env = await startTestEnv({ replicas: 2 });
});

afterAll(() => env?.stop());

interface DefinitionStatus {
  storedVersions: string[];
  acceptedNames: Record<string, unknown>;
  conditions: { type: string; status: string; reason: string; lastTransitionTime: string }[];
}

const statusOf = async (name: string): Promise<DefinitionStatus> =>
  (await call(env, `${definitionsPath}/${name}`)).body.status as DefinitionStatus;

describe('registering', () => {
  test('a missing model is 404 on every verb; a created one is served by every server, without restart', async () => {
    const wanted = newDefinition();
    const path = `/apis/${wanted.spec.group}/v1/posts`;
    const before = await Promise.all([0, 1].map((server) => call(env, path, { server })));
    expect(before.map(({ status }) => status)).toEqual([404, 404]);
    const posted = await call(env, definitionsPath, { method: 'POST', body: wanted });
    expect(posted.status).toBe(201);
    await onEveryServer(env, path, 200);
    await createOrThrow(env, path, { apiVersion: `${wanted.spec.group}/v1`, kind: 'Post', metadata: { name: 'a' } });
    const read = await call(env, `${path}/a`, { server: 1 });
    expect(read.status).toBe(200);
  });

  test('sets conditions, accepted names and stored versions', async () => {
    const { definition: posted } = await register(env, {
      names: { shortNames: ['po'], categories: ['all'], listKind: 'PostList' },
    });
    await retryUntilPasses(async () => {
      const { conditions, storedVersions, acceptedNames } = await statusOf(posted.metadata.name);
      expect(Object.fromEntries(conditions.map(({ type, status }) => [type, status]))).toMatchObject({
        NamesAccepted: 'True',
        Established: 'True',
      });
      for (const { reason, lastTransitionTime } of conditions) {
        expect(reason).not.toBe('');
        expect(lastTransitionTime).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      }
      expect(storedVersions).toEqual(['v1']);
      expect(acceptedNames).toEqual({
        plural: 'posts',
        singular: 'post',
        kind: 'Post',
        listKind: 'PostList',
        shortNames: ['po'],
        categories: ['all'],
      });
    });
  });

  test('sets missing names: singular and listKind', async () => {
    const wanted = newDefinition();
    delete wanted.spec.names['singular'];
    await register(env, wanted);
    const { body } = await call(env, `${definitionsPath}/${wanted.metadata.name}`);
    expect((body.spec as unknown as Definition['spec']).names).toEqual({
      kind: 'Post',
      plural: 'posts',
      singular: 'post',
      listKind: 'PostList',
    });
  });

  test('a change of the storage version appends to storedVersions', async () => {
    const versions = [
      version('v1', schemaWithSpec(anySpec)),
      version('v2', schemaWithSpec(anySpec), { storage: false }),
    ];
    const posts = await register(env, { versions });
    await changeDefinition(env, posts.definition.metadata.name, ({ spec }) => {
      spec.versions[0]!['storage'] = false;
      spec.versions[1]!['storage'] = true;
    });
    await retryUntilPasses(async () =>
      expect((await statusOf(posts.definition.metadata.name)).storedVersions).toEqual(['v1', 'v2']),
    );
    const refused = await changeDefinition(env, posts.definition.metadata.name, ({ spec }) => {
      spec.versions = spec.versions.slice(1);
    });
    expect(refused.status).toBe(422);
    expect(refused.body.details.causes!.map(({ field }) => field).join()).toContain('storedVersions');
  });

  test('concurrent definitions are all served on both servers', async () => {
    const group = newGroup();
    await Promise.all(Array.from({ length: 12 }, (_, i) => register(env, { group, kind: `Kind${i}` })));
    const listed = await call(env, definitionsPath, { server: 1 });
    expect(listed.body.items.filter(({ spec }) => spec['group'] === group)).toHaveLength(12);
  });

  test('a second create of a definition is 409', async () => {
    const posts = await register(env);
    const again = await call(env, definitionsPath, { method: 'POST', body: posts.definition });
    expect([again.status, again.body.reason]).toEqual([409, 'AlreadyExists']);
  });

  test('a cluster-scoped model is 404 under /namespaces, and a namespaced one refuses a create without a namespace', async () => {
    const [cluster, namespaced] = await Promise.all([register(env), register(env, { scope: 'Namespaced' })]);
    expect((await call(env, cluster.inNamespace('default'))).status).toBe(404);
    expect(
      (await call(env, cluster.inNamespace('default'), { method: 'POST', body: cluster.object('a') })).status,
    ).toBe(404);
    const bare = await call(env, namespaced.path, { method: 'POST', body: namespaced.object('a') });
    expect(bare.status).toBeGreaterThanOrEqual(400);
    expect(bare.status).toBeLessThan(500);
    expect(
      (await call(env, namespaced.inNamespace('default'), { method: 'POST', body: namespaced.object('a') })).status,
    ).toBe(201);
    expect(
      (await call(env, namespaced.inNamespace('nowhere'), { method: 'POST', body: namespaced.object('a') })).status,
    ).toBe(404);
  });
});
