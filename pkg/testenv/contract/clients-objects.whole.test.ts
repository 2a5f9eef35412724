import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  ApiException,
  ApiextensionsV1Api,
  CoreV1Api,
  CustomObjectsApi,
  KubernetesObjectApi,
  PatchStrategy,
  setHeaderOptions,
  type KubernetesObject,
  type V1CustomResourceDefinition,
} from '@kubernetes/client-node';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { retryUntilPasses } from './api-call.ts';
import { kubeConfig } from './clients-kube-config.ts';
import { newDefinition, onEveryServer, register, statusAndScale, type Registered } from './models-definition.ts';

let env: TestEnv;
let posts: Registered;
let notes: Registered;
let custom: CustomObjectsApi;
let objects: KubernetesObjectApi;

const schema = {
  type: 'object',
  properties: {
    spec: { type: 'object', properties: { title: { type: 'string', maxLength: 5 }, n: { type: 'integer' } } },
    status: { type: 'object', properties: { ready: { type: 'boolean' } } },
  },
};

beforeAll(async () => {
  env = await startTestEnv();
  [posts, notes] = await Promise.all([
    register(env, { schema, definitionVersion: { subresources: { status: {} } } }),
    register(env, { kind: 'Note', scope: 'Namespaced', definitionVersion: statusAndScale }),
  ]);
  const config = kubeConfig(env.url, env.token);
  custom = config.makeApiClient(CustomObjectsApi);
  objects = KubernetesObjectApi.makeApiClient(config);
});

afterAll(() => env?.stop());

interface Custom extends KubernetesObject {
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
  items?: Custom[];
}

/** The error of the client: its code and the Status in its body. */
async function failure(attempt: Promise<unknown>): Promise<{ code: number; reason: string }> {
  try {
    await attempt;
  } catch (error) {
    if (!(error instanceof ApiException)) throw error;
    const body = (typeof error.body === 'string' ? JSON.parse(error.body) : error.body) as { reason: string };
    return { code: error.code, reason: body.reason };
  }
  throw new Error('no failure');
}

describe('CustomObjectsApi', () => {
  const at = (): { group: string; version: string; plural: string } => ({
    group: posts.group,
    version: 'v1',
    plural: 'posts',
  });
  const merge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);

  test('create, get, list, replace, patch, delete', async () => {
    const created = (await custom.createClusterCustomObject({
      ...at(),
      body: posts.object('a', { title: 'one' }),
    })) as Custom;
    expect(created.metadata!.uid).toBeDefined();
    expect(await custom.getClusterCustomObject({ ...at(), name: 'a' })).toEqual(created);
    const replaced = (await custom.replaceClusterCustomObject({
      ...at(),
      name: 'a',
      body: { ...created, spec: { title: 'two' } },
    })) as Custom;
    expect(replaced.spec).toEqual({ title: 'two' });
    const merged = (await custom.patchClusterCustomObject(
      { ...at(), name: 'a', body: { spec: { n: 1 } } },
      merge,
    )) as Custom;
    expect(merged.spec).toEqual({ title: 'two', n: 1 });
    const patched = (await custom.patchClusterCustomObject({
      ...at(),
      name: 'a',
      body: [{ op: 'replace', path: '/spec/n', value: 2 }],
    })) as Custom;
    expect(patched.spec).toEqual({ title: 'two', n: 2 });
    const status = (await custom.patchClusterCustomObjectStatus(
      { ...at(), name: 'a', body: { status: { ready: true } } },
      merge,
    )) as Custom;
    expect([status.status, status.metadata!.generation]).toEqual([{ ready: true }, patched.metadata!.generation]);
    const list = (await custom.listClusterCustomObject({ ...at(), labelSelector: '!none', limit: 10 })) as Custom;
    expect([list.kind, list.items!.map(({ metadata }) => metadata!.name)]).toEqual(['PostList', ['a']]);
    const deleted = (await custom.deleteClusterCustomObject({ ...at(), name: 'a' })) as {
      status: string;
      details: { uid: string };
    };
    expect([deleted.status, deleted.details.uid]).toEqual(['Success', created.metadata!.uid]);
  });

  test('failures have the code and a Status', async () => {
    await custom.createClusterCustomObject({ ...at(), body: posts.object('twice') });
    const stale = (await custom.getClusterCustomObject({ ...at(), name: 'twice' })) as Custom;
    await custom.patchClusterCustomObject({ ...at(), name: 'twice', body: { spec: { n: 1 } } }, merge);
    expect(await failure(custom.getClusterCustomObject({ ...at(), name: 'absent' }))).toEqual({
      code: 404,
      reason: 'NotFound',
    });
    expect(await failure(custom.createClusterCustomObject({ ...at(), body: posts.object('twice') }))).toEqual({
      code: 409,
      reason: 'AlreadyExists',
    });
    expect(await failure(custom.replaceClusterCustomObject({ ...at(), name: 'twice', body: stale }))).toEqual({
      code: 409,
      reason: 'Conflict',
    });
    expect(
      await failure(custom.createClusterCustomObject({ ...at(), body: posts.object('long', { title: '123456' }) })),
    ).toEqual({ code: 422, reason: 'Invalid' });
    expect(await failure(custom.listClusterCustomObject({ ...at(), fieldSelector: 'spec.nope=1' }))).toEqual({
      code: 400,
      reason: 'BadRequest',
    });
  });

  test('in a namespace: chunks, scale, deletion of the collection', async () => {
    const inside = { group: notes.group, version: 'v1', plural: 'notes', namespace: 'default' };
    for (let i = 0; i < 5; i += 1)
      await custom.createNamespacedCustomObject({ ...inside, body: notes.object(`n${i}`, { replicas: 1 }) });
    const names: string[] = [];
    let next: string | undefined;
    do {
      const chunk = (await custom.listNamespacedCustomObject({
        ...inside,
        limit: 2,
        ...(next === undefined ? {} : { _continue: next }),
      })) as Custom & { metadata: { continue?: string } };
      names.push(...chunk.items!.map(({ metadata }) => metadata!.name!));
      next = chunk.metadata.continue === '' ? undefined : chunk.metadata.continue;
    } while (next !== undefined);
    expect(names).toEqual(['n0', 'n1', 'n2', 'n3', 'n4']);
    const scaled = (await custom.patchNamespacedCustomObjectScale(
      { ...inside, name: 'n0', body: { spec: { replicas: 4 } } },
      merge,
    )) as Custom;
    expect([scaled.kind, scaled.spec]).toEqual(['Scale', { replicas: 4 }]);
    await custom.deleteCollectionNamespacedCustomObject(inside);
    expect(((await custom.listNamespacedCustomObject(inside)) as Custom).items).toEqual([]);
  });
});

describe('KubernetesObjectApi', () => {
  test('finds the path by discovery: create, read, replace with its own dates, patch, list, delete', async () => {
    const created = await objects.create<Custom>(posts.object('k', { title: 'one' }));
    const read = await objects.read<Custom>({ apiVersion: posts.apiVersion, kind: 'Post', metadata: { name: 'k' } });
    expect(read.metadata!.uid).toBe(created.metadata!.uid);
    const replaced = await objects.replace<Custom>({ ...read, spec: { title: 'two' } });
    expect(replaced.spec).toEqual({ title: 'two' });
    const patched = await objects.patch<Custom>(
      { apiVersion: posts.apiVersion, kind: 'Post', metadata: { name: 'k' }, spec: { n: 3 } },
      undefined,
      undefined,
      undefined,
      undefined,
      PatchStrategy.MergePatch,
    );
    expect(patched.spec).toEqual({ title: 'two', n: 3 });
    expect(
      (await failure(objects.patch({ apiVersion: posts.apiVersion, kind: 'Post', metadata: { name: 'k' } }))).code,
    ).toBe(415);
    const list = await objects.list(posts.apiVersion, 'Post');
    expect(list.items.map(({ metadata }) => metadata!.name)).toContain('k');
    expect((await objects.delete({ apiVersion: posts.apiVersion, kind: 'Post', metadata: { name: 'k' } })).status).toBe(
      'Success',
    );
  });
});

test('ApiextensionsV1Api: the typed client creates, reads, lists, changes and deletes a definition', async () => {
  const api = kubeConfig(env.url, env.token).makeApiClient(ApiextensionsV1Api);
  const wanted = newDefinition();
  const { name } = wanted.metadata;
  const path = `/apis/${wanted.spec.group}/v1/posts`;
  await api.createCustomResourceDefinition({ body: wanted as unknown as V1CustomResourceDefinition });
  await retryUntilPasses(async () => {
    const { status } = await api.readCustomResourceDefinition({ name });
    expect(status!.conditions!.find(({ type }) => type === 'Established')!.status).toBe('True');
  });
  await onEveryServer(env, path, 200);
  const read = await api.readCustomResourceDefinition({ name });
  read.spec.names.shortNames = ['po'];
  const replaced = await api.replaceCustomResourceDefinition({ name, body: read });
  expect(replaced.spec.names.shortNames).toEqual(['po']);
  expect((await api.listCustomResourceDefinition()).items.map(({ metadata }) => metadata!.name)).toContain(name);
  await api.deleteCustomResourceDefinition({ name });
  await onEveryServer(env, path, 404);
});

test('CoreV1Api: namespaces', async () => {
  const api = kubeConfig(env.url, env.token).makeApiClient(CoreV1Api);
  const created = await api.createNamespace({
    body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'made' } },
  });
  expect(created.metadata!.creationTimestamp).toBeInstanceOf(Date);
  const names = (await api.listNamespace()).items.map(({ metadata }) => metadata!.name);
  expect(names).toEqual(expect.arrayContaining(['default', 'made']));
  expect((await api.readNamespace({ name: 'made' })).metadata!.uid).toBe(created.metadata!.uid);
});
