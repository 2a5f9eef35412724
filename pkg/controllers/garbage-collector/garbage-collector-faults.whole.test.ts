import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { isStatusError, type Client, type ResourceType, type Stored } from '#pkg/apimachinery/index';
import { Manager } from '#pkg/runtime/index';
import { FaultyClient, SeededRandom, startTestEnv, type TestEnv } from '#pkg/testenv/index';
import {
  bossType,
  defineThings,
  pollUntil,
  keyOfObject,
  newThing,
  getIfPresent,
  ownerReferenceTo,
  silentControllerLog,
  thingTypes,
  type Thing,
} from '../controllerstest/owned-models.ts';
import { garbageCollector } from './garbage-collector.ts';
import {
  expectedRemainingObjects,
  type ExpectedObject,
  type ModelReference,
} from '../controllerstest/expected-remaining-objects.ts';

/** `SVC_TEST_SEEDS=1000 npm test -- garbage-collector-faults` runs more seeds. */
const seeds = Number(process.env['SVC_TEST_SEEDS'] ?? 15);
const firstSeed = Number(process.env['SVC_TEST_FIRST_SEED'] ?? 1);
const rates = { unavailable: 0.1, lostAnswer: 0.1, droppedWatch: 0.1, expired: 0.05, delayedEvent: 0.2 };

let env: TestEnv;
let client: Client;

beforeAll(async () => {
  env = await startTestEnv({ replicas: 2 });
  client = env.servers[1]!.client;
  await defineThings(env);
  await client.create(
    {
      group: '',
      version: 'v1',
      kind: 'Namespace',
      plural: 'namespaces',
      namespaced: false,
      hasStatusSubresource: true,
    },
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } },
  );
});
afterAll(() => env.stop());

interface Made {
  type: ResourceType<Thing>;
  object: Stored<Thing>;
  references: ModelReference[];
}

/** Objects that reference each other, and some missing owners. */
async function createObjects(
  random: SeededRandom,
  { seed, isOrphaning }: { seed: number; isOrphaning: boolean },
): Promise<Made[]> {
  const objects: Made[] = [];
  for (let i = 4 + random.below(9); i > 0; i -= 1) {
    const type = random.pick(thingTypes);
    const namespace = random.chance(0.8) ? 'default' : 'other';
    const object = await client.create(
      type,
      newThing(type, `s${seed}-${objects.length}`, type.namespaced ? { namespace } : {}),
    );
    objects.push({ type, object, references: [] });
  }
  for (const each of objects) {
    for (let i = random.below(4); i > 0; i -= 1) {
      const owner = random.pick(objects);
      if (each.references.some(({ uid }) => uid === owner.object.metadata.uid)) continue;
      if (isOrphaning && !mayOwn(owner, each)) continue;
      const isGhost = !isOrphaning && random.chance(0.15);
      each.references.push({
        ...ownerReferenceTo(owner.object, random.chance(0.7)),
        ...(isGhost ? { uid: `ghost-${seed}-${i}` } : {}),
      });
    }
    if (each.references.length === 0) continue;
    await client.patch(each.type, keyOfObject(each.object), {
      type: 'merge',
      patch: { metadata: { ownerReferences: each.references.map((reference) => ({ ...reference })) } },
    });
  }
  return objects;
}

function mayOwn(owner: Made, dependent: Made): boolean {
  return !owner.type.namespaced || owner.object.metadata.namespace === dependent.object.metadata.namespace;
}

function modelOf({ type, object, references }: Made): ExpectedObject {
  const { uid, name, namespace = '' } = object.metadata;
  return { uid, kind: type.kind, namespace, name, references };
}

/** The remaining objects with the owners that they reference. */
async function left(objects: readonly Made[]): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  for (const { type, object } of objects) {
    const now = await getIfPresent(client, type, object);
    if (now !== undefined)
      found.set(object.metadata.name, (now.metadata.ownerReferences ?? []).map(({ uid }) => uid).toSorted());
  }
  return found;
}

function sameMaps(a: ReadonlyMap<string, string[]>, b: ReadonlyMap<string, string[]>): boolean {
  return a.size === b.size && [...a].every(([name, uids]) => b.get(name)?.join() === uids.join());
}

async function remove(
  { type, object }: Made,
  propagationPolicy: 'Background' | 'Foreground' | 'Orphan',
): Promise<void> {
  try {
    await client.delete(type, keyOfObject(object), { uid: object.metadata.uid, propagationPolicy });
  } catch (error) {
    // The collector may have deleted it first.
    if (!isStatusError(error, 'NotFound') && !isStatusError(error, 'Conflict')) throw error;
  }
}

/** Changes objects concurrently, so that the collector's reads become stale. */
async function disturb(random: SeededRandom, objects: readonly Made[]): Promise<void> {
  for (const { type, object } of objects.filter(() => random.chance(0.3))) {
    await client
      .patch(type, keyOfObject(object), {
        type: 'merge',
        patch: { metadata: { labels: { disturbed: String(random.below(1000)) } } },
      })
      .catch((error: unknown) => {
        if (!isStatusError(error, 'NotFound')) throw error;
      });
  }
}

test(
  `${seeds} worlds end as they must, whatever goes wrong on the way`,
  async () => {
    for (let seed = firstSeed; seed < firstSeed + seeds; seed += 1) {
      const random = new SeededRandom(seed);
      const isOrphaning = random.chance(0.25);
      const objects = await createObjects(random, { seed, isOrphaning });
      const faulty = new FaultyClient({ client: env.servers[0]!.client, seed, rates });
      const run = (): Manager =>
        new Manager({
          client: faulty,
          log: silentControllerLog,
          controllers: [
            garbageCollector({ client: faulty, log: silentControllerLog, backoff: { baseMs: 1, maxMs: 20 } }),
          ],
        });
      let manager = run();
      manager.start();
      const deleted = objects.filter(() => random.chance(0.35));
      for (const each of deleted) {
        await remove(each, isOrphaning ? 'Orphan' : random.pick(['Background', 'Foreground']));
        await disturb(random, objects);
        if (!random.chance(0.2)) continue;
        await manager.stop();
        manager = run();
        manager.start();
      }
      const expected = expectedRemainingObjects(
        objects.map(modelOf),
        deleted.map(({ object }) => object.metadata.uid),
        isOrphaning,
      );
      const deadline = Date.now() + 20_000;
      await pollUntil(async () => sameMaps(await left(objects), expected) || Date.now() > deadline);
      faulty.heal();
      // One pass reads every type: after repeated failures it waits for its next try, with growing delays.
      await pollUntil(async () => sameMaps(await left(objects), expected) || Date.now() > deadline + 100_000);
      // Waits for everything that is still enqueued: a last dependent with a missing owner is deleted after it.
      const boss = await client.create(
        bossType,
        newThing(bossType, `s${seed}-last`, {
          ownerReferences: [{ apiVersion: 'owned.example.com/v1', kind: 'Boss', name: 'x', uid: 'x' }],
        }),
      );
      await pollUntil(async () => (await getIfPresent(client, bossType, boss)) === undefined || Date.now() > deadline);
      await manager.stop();
      expect({ seed, left: await left(objects) }).toEqual({ seed, left: expected });
      for (const { type, object } of objects)
        await client.delete(type, keyOfObject(object), { propagationPolicy: 'Background' }).catch(() => undefined);
    }
  },
  120_000 + seeds * 25_000,
);
