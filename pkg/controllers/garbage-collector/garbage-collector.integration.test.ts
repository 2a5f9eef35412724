import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Client, OwnerReference, ResourceType, Stored } from '#pkg/apimachinery/index';
import { startTestEnv, type TestEnv } from '#pkg/testenv/index';
import {
  bossType,
  defineThings,
  pollUntil,
  keyOfObject,
  newThing,
  getIfPresent,
  ownerReferenceTo,
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
  await pollUntil(async () =>
    (await Promise.all(objects.map((object) => getIfPresent(client, type, object)))).every(
      (found) => found === undefined,
    ),
  );
}

/** Waits until everything enqueued before is done: an object with a missing owner is deleted last. */
async function settled(): Promise<void> {
  await gone(workerType, await make(workerType, [{ ...ownerReferenceTo(await make(bossType)), uid: 'nobody' }]));
}

async function isThere(type: ResourceType<Thing>, ...objects: Stored<Thing>[]): Promise<boolean> {
  return (await Promise.all(objects.map((object) => getIfPresent(client, type, object)))).every(
    (found) => found !== undefined,
  );
}

test('dependents are deleted after their owner, and theirs after them; an object with another owner stays, without its reference to the deleted one', async () => {
  const boss = await make(bossType);
  const second = await make(bossType);
  const team = await make(teamType, [ownerReferenceTo(boss)]);
  const worker = await make(workerType, [ownerReferenceTo(team)]);
  const shared = await make(workerType, [ownerReferenceTo(boss), ownerReferenceTo(second)]);
  const free = await make(workerType);
  await client.delete(bossType, keyOfObject(boss));
  await gone(teamType, team);
  await gone(workerType, worker);
  await pollUntil(async () => (await getIfPresent(client, workerType, shared))?.metadata.ownerReferences?.length === 1);
  expect((await getIfPresent(client, workerType, shared))?.metadata.ownerReferences?.[0]?.uid).toBe(
    second.metadata.uid,
  );
  await settled();
  expect(await isThere(workerType, shared, free)).toBe(true);
});

test('orphans from before the start of the collector are found at its start', async () => {
  await stop();
  const boss = await make(bossType);
  const teams = await Promise.all(Array.from({ length: 3 }, () => make(teamType, [ownerReferenceTo(boss)])));
  await client.delete(bossType, keyOfObject(boss));
  const held = await make(bossType);
  const blocking = await make(teamType, [ownerReferenceTo(held)]);
  await client.delete(bossType, keyOfObject(held), { propagationPolicy: 'Foreground' });
  stop = runControllers(client);
  await gone(teamType, ...teams, blocking);
  await gone(bossType, held);
});

test('an owner deleted in the foreground is deleted last', async () => {
  const boss = await make(bossType);
  const team = await make(teamType, [ownerReferenceTo(boss)]);
  const worker = await make(workerType, [ownerReferenceTo(team)], { finalizers: ['example.com/hold'] });
  const lazy = await make(workerType, [ownerReferenceTo(boss, false)]);
  await client.delete(bossType, keyOfObject(boss), { propagationPolicy: 'Foreground' });
  await pollUntil(
    async () => (await getIfPresent(client, workerType, worker))?.metadata.deletionTimestamp !== undefined,
  );
  await gone(workerType, lazy);
  expect((await getIfPresent(client, bossType, boss))?.metadata.finalizers).toEqual(['foregroundDeletion']);
  expect((await getIfPresent(client, teamType, team))?.metadata.finalizers).toEqual(['foregroundDeletion']);
  await client.patch(workerType, keyOfObject(worker), { type: 'merge', patch: { metadata: { finalizers: null } } });
  await gone(workerType, worker);
  await gone(teamType, team);
  await gone(bossType, boss);
});

test('a dependent that does not block is not waited for', async () => {
  const boss = await make(bossType);
  const worker = await make(workerType, [ownerReferenceTo(boss, false)], { finalizers: ['example.com/hold'] });
  await client.delete(bossType, keyOfObject(boss), { propagationPolicy: 'Foreground' });
  await gone(bossType, boss);
  expect((await getIfPresent(client, workerType, worker))?.metadata.deletionTimestamp).toBeDefined();
});

test('orphans stay, without a reference to their owner', async () => {
  const boss = await make(bossType);
  const second = await make(bossType);
  const only = await make(teamType, [ownerReferenceTo(boss)]);
  const shared = await make(workerType, [ownerReferenceTo(boss), ownerReferenceTo(second)]);
  await client.delete(bossType, keyOfObject(boss), { propagationPolicy: 'Orphan' });
  await gone(bossType, boss);
  expect((await getIfPresent(client, teamType, only))?.metadata.ownerReferences).toBeUndefined();
  expect((await getIfPresent(client, workerType, shared))?.metadata.ownerReferences).toHaveLength(1);
  await settled();
  expect(await isThere(teamType, only)).toBe(true);
});

test('if an owner asks for both, its dependents are orphaned first and stay', async () => {
  const boss = await make(bossType, [], { finalizers: ['foregroundDeletion', 'orphan'] });
  const team = await make(teamType, [ownerReferenceTo(boss)]);
  await client.delete(bossType, keyOfObject(boss));
  await gone(bossType, boss);
  await settled();
  expect((await getIfPresent(client, teamType, team))?.metadata).toMatchObject({ uid: team.metadata.uid });
});

test('an object that is being deleted is not changed when one of its owners is deleted', async () => {
  const [boss, second] = [await make(bossType), await make(bossType)];
  const worker = await make(workerType, [ownerReferenceTo(boss), ownerReferenceTo(second)], {
    finalizers: ['example.com/held'],
  });
  const team = await make(teamType, [ownerReferenceTo(boss)]);
  await client.delete(workerType, keyOfObject(worker));
  await client.delete(bossType, keyOfObject(boss));
  await gone(teamType, team);
  await settled();
  expect((await getIfPresent(client, workerType, worker))?.metadata.ownerReferences).toHaveLength(2);
  await client.patch(workerType, keyOfObject(worker), { type: 'merge', patch: { metadata: { finalizers: null } } });
});

test('a reference from another namespace does not block a deletion', async () => {
  const team = await make(teamType, [], { namespace: 'one', finalizers: ['foregroundDeletion'] });
  const stranger = await make(workerType, [ownerReferenceTo(team)], {
    namespace: 'two',
    finalizers: ['example.com/held'],
  });
  await client.delete(teamType, keyOfObject(team));
  await gone(teamType, team);
  await client.patch(workerType, keyOfObject(stranger), { type: 'merge', patch: { metadata: { finalizers: null } } });
  await gone(workerType, stranger);
});

test('an orphan keeps the reference to an owner of another kind with the name of the deleted one', async () => {
  const boss = await make(bossType);
  const team = await other.create(teamType, newThing(teamType, boss.metadata.name));
  const worker = await make(workerType, [ownerReferenceTo(boss), ownerReferenceTo(team)]);
  await client.delete(bossType, keyOfObject(boss), { propagationPolicy: 'Orphan' });
  await gone(bossType, boss);
  expect((await getIfPresent(client, workerType, worker))?.metadata.ownerReferences).toEqual([ownerReferenceTo(team)]);
});

test('a client that sets the finalizers itself gets the same result, with and without dependents', async () => {
  const bosses = await Promise.all(
    ['foregroundDeletion', 'orphan'].map((finalizer) => make(bossType, [], { finalizers: [finalizer] })),
  );
  for (const boss of bosses) await client.delete(bossType, keyOfObject(boss));
  await gone(bossType, ...bosses);
});

test.each([
  ['in the background', ['Background']],
  ['in the foreground', ['Foreground']],
  ['in the foreground, each by itself', ['Foreground', 'Foreground', 'Foreground']],
] as const)('cycles of owners are deleted: %s', async (_, policies) => {
  for (const size of [1, 2, 3]) {
    const teams = await Promise.all(Array.from({ length: size }, () => make(teamType)));
    for (const [i, team] of teams.entries())
      await client.patch(teamType, keyOfObject(team), {
        type: 'merge',
        patch: { metadata: { ownerReferences: [{ ...ownerReferenceTo(teams[(i + 1) % size]!) }] } },
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

test('an owner counts only if its reference is valid', async () => {
  const team = await make(teamType, [], { namespace: 'one' });
  const boss = await make(bossType);
  const elsewhere = await make(workerType, [ownerReferenceTo(team)], { namespace: 'two' });
  const misnamed = await make(workerType, [{ ...ownerReferenceTo(boss), name: 'another' }]);
  const reborn = await make(workerType, [{ ...ownerReferenceTo(boss), uid: 'of-an-earlier-life' }]);
  await gone(workerType, elsewhere, misnamed, reborn);

  const outside = await make(bossType, [ownerReferenceTo(team)]);
  await pollUntil(async () => warnings.includes('a cluster-scoped object names a namespaced owner; it is not deleted'));
  const stranger = await make(workerType, [
    { apiVersion: 'nobody.example.com/v1', kind: 'Nobody', name: 'x', uid: 'x' },
  ]);
  await settled();
  expect([await isThere(bossType, outside), await isThere(workerType, stranger)]).toEqual([true, true]);
});

test('a newly served type is followed, and one that is no longer served keeps its objects', async () => {
  const late: ResourceType<Thing> = { ...bossType, kind: 'Late', plural: 'lates' };
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/lates.owned.example.com';
  await defineThings(env, [late]);
  const owner = await make(late);
  const worker = await make(workerType, [ownerReferenceTo(owner)]);
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
  await pollUntil(() =>
    client.delete(late, keyOfObject(owner)).then(
      () => true,
      () => false,
    ),
  );
  await gone(workerType, worker);
});

test('an object that cannot be changed does not prevent the deletion of others', async () => {
  const strict: ResourceType<Thing> = { ...teamType, kind: 'Strict', plural: 'stricts' };
  await defineThings(env, [strict]);
  const [boss, second] = [await make(bossType), await make(bossType)];
  const stubborn = await make(strict, [ownerReferenceTo(boss), ownerReferenceTo(second)]);
  const others = await Promise.all(Array.from({ length: 5 }, () => make(strict, [ownerReferenceTo(boss)])));
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
  expect((await getIfPresent(client, strict, stubborn))?.metadata.ownerReferences).toHaveLength(2);
  await client.delete(bossType, keyOfObject(second), { propagationPolicy: 'Foreground' });
  await gone(strict, stubborn);
  await gone(bossType, second);
});

test('the objects of a deleted definition are deleted owners', async () => {
  const brief: ResourceType<Thing> = { ...bossType, kind: 'Brief', plural: 'briefs' };
  await defineThings(env, [brief]);
  const owner = await make(brief);
  const worker = await make(workerType, [ownerReferenceTo(owner)]);
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
