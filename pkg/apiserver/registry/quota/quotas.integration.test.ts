import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { JsonObject } from '#pkg/apimachinery/index';
import type { ResourceQuota } from '#pkg/apis/index';
import { ApiClient, pollUntil } from '../registrytest/api-client.ts';
import { startReplicas, type ReplicaPair } from '../registrytest/replica-pair.ts';
import { sampleDefinition } from '../registrytest/sample-objects.ts';

const group = 'quota.example.com';
const count = `count/things.${group}`;
let pair: ReplicaPair;
let namespaces: ApiClient;
let quotas: ApiClient;
let things: ApiClient;
let otherThings: ApiClient;

beforeAll(async () => {
  pair = await startReplicas();
  const { registry } = pair.one;
  namespaces = ApiClient.of(registry, '', 'v1', 'namespaces');
  quotas = ApiClient.of(registry, '', 'v1', 'resourcequotas');
  await ApiClient.of(registry, 'apiextensions.k8s.io', 'v1', 'customresourcedefinitions').create(
    sampleDefinition({ group, plural: 'things', kind: 'Thing', scope: 'Namespaced' }),
  );
  things = ApiClient.of(registry, group, 'v1', 'things');
  await pair.two.store.changes.catchUp();
  otherThings = ApiClient.of(pair.two.registry, group, 'v1', 'things');
});

afterAll(() => pair?.close());

let made = 0;
async function newNamespace(): Promise<string> {
  const name = `team-${(made += 1)}`;
  await namespaces.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  return name;
}

const quota = (name: string, hard: JsonObject, more: JsonObject = {}): JsonObject => ({
  apiVersion: 'v1',
  kind: 'ResourceQuota',
  metadata: { name },
  spec: { hard, ...more },
});
const thing = (name: string): JsonObject => ({
  apiVersion: `${group}/v1`,
  kind: 'Thing',
  metadata: { name },
  spec: { title: 'a' },
});
const statusOf = async (namespace: string, name: string): Promise<ResourceQuota['status']> =>
  ((await quotas.get(name, namespace)) as unknown as ResourceQuota).status;
/** Waits until the quota is in force, and used as much. */
async function used(namespace: string, name: string, wanted: Record<string, unknown>): Promise<void> {
  await pollUntil(async () => {
    const status = await statusOf(namespace, name);
    const isUsed = Object.entries(wanted).every(([key, value]) => status?.used?.[key] === value);
    return isUsed && status?.conditions?.[0]?.status === 'True';
  });
}

test('a quota refuses what is beyond it, on every replica, and its status follows', async () => {
  const namespace = await newNamespace();
  await things.create(thing('a'), undefined, namespace);
  await quotas.create(quota('small', { [count]: 2, bytes: '1Mi' }), undefined, namespace);
  await used(namespace, 'small', { [count]: '1' });
  expect(await statusOf(namespace, 'small')).toEqual({
    hard: { [count]: '2', bytes: '1Mi' },
    used: { [count]: '1', bytes: expect.stringMatching(/^\d+$/) },
    conditions: [
      {
        type: 'Counted',
        status: 'True',
        reason: 'Counted',
        message: 'the quota is in force',
        lastTransitionTime: expect.any(String),
      },
    ],
  });
  await otherThings.create(thing('b'), undefined, namespace);
  for (const each of [things, otherThings]) {
    await expect(each.create(thing('c'), undefined, namespace)).rejects.toMatchObject({
      code: 403,
      reason: 'Forbidden',
      message: `things.${group} "c" is forbidden: exceeded quota: small, requested: ${count}=1, used: ${count}=2, limited: ${count}=2`,
    });
  }
  await used(namespace, 'small', { [count]: '2' });
  await things.delete('a', undefined, namespace);
  await used(namespace, 'small', { [count]: '1' });
  await things.create(thing('c'), undefined, namespace);
});

test('of several quotas the smallest limit counts; a quota that is changed or deleted frees', async () => {
  const namespace = await newNamespace();
  await quotas.create(quota('large', { [count]: '10' }), undefined, namespace);
  await quotas.create(quota('none', { [count]: '0' }), undefined, namespace);
  await used(namespace, 'large', { [count]: '0' });
  await used(namespace, 'none', { [count]: '0' });
  await expect(things.create(thing('a'), undefined, namespace)).rejects.toMatchObject({
    message: expect.stringContaining('exceeded quota: none,'),
  });
  await quotas.put({ ...quota('none', { [count]: '1' }), metadata: { name: 'none', namespace } });
  await pollUntil(async () => (await statusOf(namespace, 'none'))?.hard?.[count] === '1');
  await things.create(thing('a'), undefined, namespace);
  await quotas.delete('none', undefined, namespace);
  await pollUntil(() =>
    things.create(thing('b'), undefined, namespace).then(
      () => true,
      () => false,
    ),
  );
  await used(namespace, 'large', { [count]: '2' });
});

test('a model that comes later is limited from its first object', async () => {
  const namespace = await newNamespace();
  const later = 'later.example.com';
  await quotas.create(quota('ahead', { [`count/things.${later}`]: '0' }), undefined, namespace);
  await used(namespace, 'ahead', { [`count/things.${later}`]: '0' });
  await ApiClient.of(pair.one.registry, 'apiextensions.k8s.io', 'v1', 'customresourcedefinitions').create(
    sampleDefinition({ group: later, plural: 'things', kind: 'Thing', scope: 'Namespaced' }),
  );
  await pollUntil(async () => (await pair.one.store.quotas.usage([namespace])).get(namespace)?.[0]?.isCounted === true);
  await expect(
    ApiClient.of(pair.one.registry, later, 'v1', 'things').create(
      { ...thing('a'), apiVersion: `${later}/v1` },
      undefined,
      namespace,
    ),
  ).rejects.toMatchObject({ code: 403 });
});

test('a replica that starts puts quotas in force that nobody has seen, and removes what is left of others', async () => {
  const namespace = await newNamespace();
  await pair.one.store.quotas.set(namespace, [{ bytes: { max: 0, quota: 'gone' } }]);
  const { store } = await pair.start();
  await pollUntil(async () => (await store.quotas.usage([namespace])).size === 0);
});

describe('a quota is refused', () => {
  test.each<[string, JsonObject, string]>([
    [
      'with a limit of another kind',
      { hard: { cpu: '1' } },
      'spec.hard[cpu]: Invalid value: "cpu": must be count/<plural>.<group>, bytes/<plural>.<group> or bytes; a model of the core group has no .<group>',
    ],
    [
      'with a limit on quotas',
      { hard: { 'count/resourcequotas': '1' } },
      'spec.hard[count/resourcequotas]: Invalid value',
    ],
    [
      'with a part of an object',
      { hard: { [count]: '1500m' } },
      'must be a whole number of at least 0, as 10, 5k or 1Gi',
    ],
    ['with a negative limit', { hard: { bytes: '-1' } }, 'spec.hard[bytes]: Invalid value: "-1"'],
    ['with scopes', { hard: {}, scopes: ['Terminating'] }, 'spec.scopes: Forbidden: quotas have no scopes here'],
    [
      'with too many limits',
      { hard: Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`count/m${i}`, '1'])) },
      'spec.hard: Too many: 101: must have at most 100 items',
    ],
  ])('%s', async (_case, spec, message) => {
    await expect(quotas.create({ ...quota('bad', {}), spec }, undefined, 'default')).rejects.toMatchObject({
      code: 422,
      message: expect.stringContaining(message),
    });
  });
});
