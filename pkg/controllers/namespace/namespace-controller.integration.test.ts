import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { isStatusError, type Client, type Stored } from '#pkg/apimachinery/index';
import { startTestEnv, type TestEnv } from '#pkg/testenv/index';
import {
  defineThings,
  pollUntil,
  keyOfObject,
  newThing,
  runControllers,
  teamType,
  workerType,
} from '../controllerstest/owned-models.ts';
import { namespaceType, type Namespace } from './namespace-controller.ts';

let env: TestEnv;
let client: Client;
let stop: () => Promise<void>;

beforeAll(async () => {
  env = await startTestEnv({ replicas: 2 });
  client = env.servers[0]!.client;
  await defineThings(env);
  stop = runControllers(env.servers[1]!.client);
});
afterAll(async () => {
  await stop();
  await env.stop();
});

function makeNamespace(name: string, metadata: Partial<Namespace['metadata']> = {}): Promise<Stored<Namespace>> {
  return client.create(namespaceType, { apiVersion: 'v1', kind: 'Namespace', metadata: { ...metadata, name } });
}

async function find(name: string): Promise<Stored<Namespace> | undefined> {
  try {
    return await client.get(namespaceType, { namespace: '', name });
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return undefined;
    throw error;
  }
}

function conditionsOf(namespace: Stored<Namespace> | undefined): Record<string, string> {
  return Object.fromEntries(
    (namespace?.status?.conditions ?? []).map(({ type, status, reason, message }) => [
      type,
      `${status} ${reason}: ${message}`,
    ]),
  );
}

test('a namespace is deleted with all its objects', async () => {
  await makeNamespace('whole');
  const workers = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      client.create(workerType, newThing(workerType, `w-${i}`, { namespace: 'whole' })),
    ),
  );
  await client.create(teamType, newThing(teamType, 't', { namespace: 'whole' }));
  await client.create(workerType, newThing(workerType, 'outside'));
  const { object } = await client.delete(namespaceType, { namespace: '', name: 'whole' });
  expect([object?.metadata.finalizers, object?.status?.phase]).toEqual([['kubernetes'], 'Terminating']);
  await pollUntil(async () => (await find('whole')) === undefined);
  const left = await client.list(workerType);
  expect(left.items.map(({ metadata }) => metadata.name)).toEqual(['outside']);
  expect(workers).toHaveLength(20);
});

test('finalizers of objects block it, and its conditions name them', async () => {
  await makeNamespace('held', { finalizers: ['example.com/last'] });
  const held = await client.create(
    workerType,
    newThing(workerType, 'w', { namespace: 'held', finalizers: ['example.com/hold'] }),
  );
  await client.create(teamType, newThing(teamType, 't', { namespace: 'held' }));
  await client.delete(namespaceType, { namespace: '', name: 'held' });
  await pollUntil(async () => conditionsOf(await find('held'))['NamespaceContentRemaining'] !== undefined);
  expect(conditionsOf(await find('held'))).toEqual({
    NamespaceDeletionContentFailure:
      'False ContentDeleted: All content successfully deleted, may be waiting on finalization',
    NamespaceContentRemaining:
      'True SomeResourcesRemain: Some resources are remaining: workers.owned.example.com has 1 resource instances',
    NamespaceFinalizersRemaining:
      'True SomeFinalizersRemain: Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances',
  });
  await client.patch(workerType, keyOfObject(held), { type: 'merge', patch: { metadata: { finalizers: null } } });
  await pollUntil(async () => (await find('held'))?.metadata.finalizers?.join() === 'example.com/last');
  await client.patch(
    namespaceType,
    { namespace: '', name: 'held' },
    { type: 'merge', patch: { metadata: { finalizers: null } } },
  );
  await pollUntil(async () => (await find('held')) === undefined);
});

test('objects whose type is not served block it, too', async () => {
  await makeNamespace('unseen');
  await client.create(teamType, newThing(teamType, 't', { namespace: 'unseen' }));
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/teams.owned.example.com';
  const serve = async (isServed: boolean): Promise<void> => {
    const patch = [{ op: 'replace', path: '/spec/versions/0/served', value: isServed }];
    expect(
      (
        await env.request(path, {
          method: 'PATCH',
          headers: { 'content-type': 'application/json-patch+json' },
          body: JSON.stringify(patch),
        })
      ).status,
    ).toBe(200);
  };
  await serve(false);
  await client.delete(namespaceType, { namespace: '', name: 'unseen' });
  await pollUntil(
    async () =>
      conditionsOf(await find('unseen'))['NamespaceDeletionContentFailure']?.includes('models that are not served') ===
      true,
  );
  await serve(true);
  await pollUntil(async () => (await find('unseen')) === undefined);
});

test('dependents of its objects are deleted after them, in any namespace', async () => {
  await makeNamespace('team');
  const boss = await client.create(namespaceType, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'boss' } });
  const owned = await client.create(
    workerType,
    newThing(workerType, 'of-a-namespace', {
      ownerReferences: [{ apiVersion: 'v1', kind: 'Namespace', name: 'boss', uid: boss.metadata.uid }],
    }),
  );
  await client.delete(namespaceType, { namespace: '', name: 'boss' });
  await pollUntil(() =>
    client.get(workerType, keyOfObject(owned)).then(
      () => false,
      (error: unknown) => isStatusError(error, 'NotFound'),
    ),
  );
});
