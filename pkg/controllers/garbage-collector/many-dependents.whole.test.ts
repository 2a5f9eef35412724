import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Client, Stored } from '#pkg/apimachinery/index';
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
  workerType,
  type Thing,
} from '../controllerstest/owned-models.ts';
import { inParallel } from '../parallel/in-parallel.ts';

let env: TestEnv;
let client: Client;
let stop: () => Promise<void>;

beforeAll(async () => {
  env = await startTestEnv();
  client = env.servers[0]!.client;
  await defineThings(env);
  stop = runControllers(client);
});
afterAll(async () => {
  await stop();
  await env.stop();
});

async function ownerOf(count: number, name: string): Promise<Stored<Thing>> {
  const owner = await client.create(bossType, newThing(bossType, name));
  await inParallel(Array.from({ length: count }).keys(), 64, async (i) => {
    await client.create(
      workerType,
      newThing(workerType, `${name}-${i}`, { ownerReferences: [ownerReferenceTo(owner)] }),
    );
  });
  return owner;
}

async function hasWorkers(owner: Stored<Thing>): Promise<boolean> {
  return (
    (await client.list(workerType, { fieldSelector: `metadata.ownerReferences.uid=${owner.metadata.uid}`, limit: 1 }))
      .items.length > 0
  );
}

test.each([
  ['Background', 3000],
  ['Foreground', 600],
] as const)('%s: an owner is deleted with its %i dependents', async (propagationPolicy, count) => {
  const owner = await ownerOf(count, `many-${propagationPolicy.toLowerCase()}`);
  await client.delete(bossType, keyOfObject(owner), { propagationPolicy });
  await pollUntil(async () => !(await hasWorkers(owner)));
  await pollUntil(async () => (await getIfPresent(client, bossType, owner)) === undefined);
});

test('600 orphans stay', async () => {
  const owner = await ownerOf(600, 'many-orphans');
  await client.delete(bossType, keyOfObject(owner), { propagationPolicy: 'Orphan' });
  await pollUntil(async () => (await getIfPresent(client, bossType, owner)) === undefined);
  const { items } = await client.list(workerType);
  expect(items.filter(({ metadata }) => metadata.ownerReferences === undefined)).toHaveLength(600);
});
