import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Client, OwnerReference, ResourceType, Stored } from '#pkg/apimachinery/index';
import { startTestEnv, type TestEnv } from '#pkg/testenv/index';
import {
  bossType,
  defineThings,
  waitUntil,
  keyOfObject,
  newThing,
  present,
  refersTo,
  runControllers,
  silentControllerLog,
  teamType,
  workerType,
  type Thing,
} from '../controllerstest/owned-models.ts';

let env: TestEnv;
let client: Client;
let other: Client;
let stop: () => Promise<void>;
let warnings: string[];
let made = 0;

beforeAll(async () => {
  env = await startTestEnv({ replicas: 2 });
  client = env.servers[0]!.client;
  other = env.servers[1]!.client;
  await defineThings(env);
  for (const name of ['one', 'two'])
    await client.create(
      {
        group: '',
        version: 'v1',
        kind: 'Namespace',
        plural: 'namespaces',
        namespaced: false,
        hasStatusSubresource: true,
      },
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
    );
});
afterAll(() => env.stop());
beforeEach(() => {
  warnings = [];
  stop = runControllers(client, { ...silentControllerLog, warn: (_, message) => warnings.push(message) });
});
afterEach(() => stop());

/** Created on another server than the collector reads from. */
function make(
  type: ResourceType<Thing>,
  owners: readonly OwnerReference[] = [],
  metadata: Partial<Thing['metadata']> = {},
): Promise<Stored<Thing>> {
  made += 1;
  return other.create(
    type,
    newThing(type, `t-${made}`, { ...metadata, ...(owners.length === 0 ? {} : { ownerReferences: [...owners] }) }),
  );
}

async function gone(type: ResourceType<Thing>, ...objects: Stored<Thing>[]): Promise<void> {
  await waitUntil(async () =>
    (await Promise.all(objects.map((object) => present(client, type, object)))).every((found) => found === undefined),
  );
}

/** Waits until everything enqueued before is done: an object with a missing owner is deleted last. */
async function settled(): Promise<void> {
  await gone(workerType, await make(workerType, [{ ...refersTo(await make(bossType)), uid: 'nobody' }]));
}

async function isThere(type: ResourceType<Thing>, ...objects: Stored<Thing>[]): Promise<boolean> {
  return (await Promise.all(objects.map((object) => present(client, type, object)))).every(
    (found) => found !== undefined,
  );
}

test('dependents are deleted after their owner, and theirs after them; an object with another owner stays, without the reference to the deleted one', async () => {
  const boss = await make(bossType);
  const second = await make(bossType);
  const team = await make(teamType, [refersTo(boss)]);
  const worker = await make(workerType, [refersTo(team)]);
  const shared = await make(workerType, [refersTo(boss), refersTo(second)]);
  const free = await make(workerType);
  await client.delete(bossType, keyOfObject(boss));
  await gone(teamType, team);
  await gone(workerType, worker);
  await waitUntil(async () => (await present(client, workerType, shared))?.metadata.ownerReferences?.length === 1);
  expect((await present(client, workerType, shared))?.metadata.ownerReferences?.[0]?.uid).toBe(second.metadata.uid);
  await settled();
  expect(await isThere(workerType, shared, free)).toBe(true);
});

test('dependents that remained while no collector ran are found at the start', async () => {
  await stop();
  const boss = await make(bossType);
  const teams = await Promise.all(Array.from({ length: 3 }, () => make(teamType, [refersTo(boss)])));
  await client.delete(bossType, keyOfObject(boss));
  const held = await make(bossType);
  const blocking = await make(teamType, [refersTo(held)]);
  await client.delete(bossType, keyOfObject(held), { propagationPolicy: 'Foreground' });
  stop = runControllers(client);
  await gone(teamType, ...teams, blocking);
  await gone(bossType, held);
});

test('an owner that is deleted in the foreground is deleted last', async () => {
  const boss = await make(bossType);
  const team = await make(teamType, [refersTo(boss)]);
  const worker = await make(workerType, [refersTo(team)], { finalizers: ['example.com/hold'] });
  const lazy = await make(workerType, [refersTo(boss, false)]);
  await client.delete(bossType, keyOfObject(boss), { propagationPolicy: 'Foreground' });
  await waitUntil(async () => (await present(client, workerType, worker))?.metadata.deletionTimestamp !== undefined);
  await gone(workerType, lazy);
  expect((await present(client, bossType, boss))?.metadata.finalizers).toEqual(['foregroundDeletion']);
  expect((await present(client, teamType, team))?.metadata.finalizers).toEqual(['foregroundDeletion']);
  await client.patch(workerType, keyOfObject(worker), { type: 'merge', patch: { metadata: { finalizers: null } } });
  await gone(workerType, worker);
  await gone(teamType, team);
  await gone(bossType, boss);
});

test('an owner does not wait for dependents that do not block', async () => {
  const boss = await make(bossType);
  const worker = await make(workerType, [refersTo(boss, false)], { finalizers: ['example.com/hold'] });
  await client.delete(bossType, keyOfObject(boss), { propagationPolicy: 'Foreground' });
  await gone(bossType, boss);
  expect((await present(client, workerType, worker))?.metadata.deletionTimestamp).toBeDefined();
});

test('orphans stay, without the owner reference', async () => {
  const boss = await make(bossType);
  const second = await make(bossType);
  const only = await make(teamType, [refersTo(boss)]);
  const shared = await make(workerType, [refersTo(boss), refersTo(second)]);
  await client.delete(bossType, keyOfObject(boss), { propagationPolicy: 'Orphan' });
  await gone(bossType, boss);
  expect((await present(client, teamType, only))?.metadata.ownerReferences).toBeUndefined();
  expect((await present(client, workerType, shared))?.metadata.ownerReferences).toHaveLength(1);
  await settled();
  expect(await isThere(teamType, only)).toBe(true);
});

test('if an owner has both finalizers, its dependents are orphaned first and stay', async () => {
  const boss = await make(bossType, [], { finalizers: ['foregroundDeletion', 'orphan'] });
  const team = await make(teamType, [refersTo(boss)]);
  await client.delete(bossType, keyOfObject(boss));
  await gone(bossType, boss);
  await settled();
  expect((await present(client, teamType, team))?.metadata).toMatchObject({ uid: team.metadata.uid });
});

test('an object that is being deleted is not changed when an owner is deleted', async () => {
  const [boss, second] = [await make(bossType), await make(bossType)];
  const worker = await make(workerType, [refersTo(boss), refersTo(second)], { finalizers: ['example.com/held'] });
  const team = await make(teamType, [refersTo(boss)]);
  await client.delete(workerType, keyOfObject(worker));
  await client.delete(bossType, keyOfObject(boss));
  await gone(teamType, team);
  await settled();
  expect((await present(client, workerType, worker))?.metadata.ownerReferences).toHaveLength(2);
  await client.patch(workerType, keyOfObject(worker), { type: 'merge', patch: { metadata: { finalizers: null } } });
});

test('an object that names an owner in another namespace does not block its deletion', async () => {
  const team = await make(teamType, [], { namespace: 'one', finalizers: ['foregroundDeletion'] });
  const stranger = await make(workerType, [refersTo(team)], { namespace: 'two', finalizers: ['example.com/held'] });
  await client.delete(teamType, keyOfObject(team));
  await gone(teamType, team);
  await client.patch(workerType, keyOfObject(stranger), { type: 'merge', patch: { metadata: { finalizers: null } } });
  await gone(workerType, stranger);
});

test('an orphan keeps the reference to an owner of another kind with the same name', async () => {
  const boss = await make(bossType);
  const team = await other.create(teamType, newThing(teamType, boss.metadata.name));
  const worker = await make(workerType, [refersTo(boss), refersTo(team)]);
  await client.delete(bossType, keyOfObject(boss), { propagationPolicy: 'Orphan' });
  await gone(bossType, boss);
  expect((await present(client, workerType, worker))?.metadata.ownerReferences).toEqual([refersTo(team)]);
});

test('a client that sets the finalizers itself gets the same, with or without dependents', async () => {
  const bosses = await Promise.all(
    ['foregroundDeletion', 'orphan'].map((finalizer) => make(bossType, [], { finalizers: [finalizer] })),
  );
  for (const boss of bosses) await client.delete(bossType, keyOfObject(boss));
  await gone(bossType, ...bosses);
});

test.each([
  ['in the background', ['Background']],
  ['in the foreground', ['Foreground']],
  ['in the foreground, each separately', ['Foreground', 'Foreground', 'Foreground']],
] as const)('cycles of owners are deleted: %s', async (_, policies) => {
  for (const size of [1, 2, 3]) {
    const teams = await Promise.all(Array.from({ length: size }, () => make(teamType)));
    for (const [i, team] of teams.entries())
      await client.patch(teamType, keyOfObject(team), {
        type: 'merge',
        patch: { metadata: { ownerReferences: [{ ...refersTo(teams[(i + 1) % size]!) }] } },
      });
    for (const [i, propagationPolicy] of policies.entries()) {
      // Deleting the first one may have deleted the whole cycle.
      if (teams[i] !== undefined)
        await client
          .delete(teamType, keyOfObject(teams[i]), { propagationPolicy })
          .catch((error: unknown) => expect(error).toMatchObject({ code: 404 }));
    }
    await gone(teamType, ...teams);
  }
});

test('an owner reference counts only if it is valid', async () => {
  const team = await make(teamType, [], { namespace: 'one' });
  const boss = await make(bossType);
  const elsewhere = await make(workerType, [refersTo(team)], { namespace: 'two' });
  const misnamed = await make(workerType, [{ ...refersTo(boss), name: 'another' }]);
  const reborn = await make(workerType, [{ ...refersTo(boss), uid: 'of-an-earlier-life' }]);
  await gone(workerType, elsewhere, misnamed, reborn);

  const outside = await make(bossType, [refersTo(team)]);
  await waitUntil(async () =>
    warnings.includes('a cluster-scoped object names an owner in a namespace; keeping the object'),
  );
  const stranger = await make(workerType, [
    { apiVersion: 'nobody.example.com/v1', kind: 'Nobody', name: 'x', uid: 'x' },
  ]);
  await settled();
  expect([await isThere(bossType, outside), await isThere(workerType, stranger)]).toEqual([true, true]);
});

test('a newly served type is watched, and a type that is no longer served keeps its objects', async () => {
  const late: ResourceType<Thing> = { ...bossType, kind: 'Late', plural: 'lates' };
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/lates.owned.example.com';
  await defineThings(env, [late]);
  const owner = await make(late);
  const worker = await make(workerType, [refersTo(owner)]);
  const served = async (isServed: boolean): Promise<void> => {
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
  await served(false);
  await client.patch(workerType, keyOfObject(worker), {
    type: 'merge',
    patch: { metadata: { labels: { seen: 'again' } } },
  });
  await settled();
  expect(await isThere(workerType, worker)).toBe(true);
  await served(true);
  await waitUntil(() =>
    client.delete(late, keyOfObject(owner)).then(
      () => true,
      () => false,
    ),
  );
  await gone(workerType, worker);
});

test('an object that cannot be changed does not block the deletion of others', async () => {
  const strict: ResourceType<Thing> = { ...teamType, kind: 'Strict', plural: 'stricts' };
  await defineThings(env, [strict]);
  const [boss, second] = [await make(bossType), await make(bossType)];
  const unchangeable = await make(strict, [refersTo(boss), refersTo(second)]);
  const others = await Promise.all(Array.from({ length: 5 }, () => make(strict, [refersTo(boss)])));
  // The stored object is no longer valid: it can be deleted but not changed.
  const patch = [{ op: 'add', path: '/spec/versions/0/schema/openAPIV3Schema/required', value: ['spec'] }];
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/stricts.owned.example.com';
  expect(
    (
      await env.request(path, {
        method: 'PATCH',
        headers: { 'content-type': 'application/json-patch+json' },
        body: JSON.stringify(patch),
      })
    ).status,
  ).toBe(200);
  await client.delete(bossType, keyOfObject(boss));
  await gone(strict, ...others);
  expect((await present(client, strict, unchangeable))?.metadata.ownerReferences).toHaveLength(2);
  await client.delete(bossType, keyOfObject(second), { propagationPolicy: 'Foreground' });
  await gone(strict, unchangeable);
  await gone(bossType, second);
});

test('dependents of the objects of a deleted definition are deleted', async () => {
  const brief: ResourceType<Thing> = { ...bossType, kind: 'Brief', plural: 'briefs' };
  await defineThings(env, [brief]);
  const owner = await make(brief);
  const worker = await make(workerType, [refersTo(owner)]);
  await settled();
  expect(
    (
      await env.request('/apis/apiextensions.k8s.io/v1/customresourcedefinitions/briefs.owned.example.com', {
        method: 'DELETE',
      })
    ).status,
  ).toBe(200);
  await gone(workerType, worker);
});
