import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Client } from '#pkg/apimachinery/index';
import { controllerFor, writeChanges, type ControllerDefinition, type ReconcileFunction } from '#pkg/runtime/index';
import { definePosts, newPost, postType } from '../post-model.ts';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { FaultyRunError, runControllersUnderFaults, type FaultyWorld } from './run-controllers-under-faults.ts';

let env: TestEnv;
let client: Client;

beforeAll(async () => {
  env = await startTestEnv();
  client = env.servers[0]!.steadyClient;
  await definePosts(env);
});
afterAll(() => env.stop());

async function write({ client: api, random, pause }: FaultyWorld): Promise<void> {
  for (let i = 0; i < 6; i += 1) {
    const name = `p${i}`;
    await api.create(postType, newPost(name));
    await pause();
    if (random.chance(0.5))
      await api.patch(
        postType,
        { namespace: '', name },
        { type: 'merge', patch: { spec: { title: 'one two three' } } },
      );
    if (random.chance(0.2)) await api.delete(postType, { namespace: '', name });
    await pause();
  }
}

async function counted({ client: api }: FaultyWorld): Promise<void> {
  for (const { metadata, spec, status } of (await api.list(postType)).items) {
    if (status?.words !== spec!.title.split(' ').length)
      throw new Error(`${metadata.name} has the wrong number of words`);
  }
}

function pluginOf(reconcile: ReconcileFunction): { models: (typeof postType)[]; controllers: ControllerDefinition[] } {
  return { models: [postType], controllers: [controllerFor(postType).reconcile(reconcile)] };
}

const right = pluginOf(async (key, { client: api, lister }) => {
  const post = lister(postType).get(key);
  if (post !== undefined)
    await writeChanges(api, postType, post, { ...post, status: { words: post.spec!.title.split(' ').length } });
});

test('a correct controller passes, and its objects are removed', async () => {
  for (let seed = 1; seed <= 15; seed += 1)
    await runControllersUnderFaults({ client, plugin: right, seed, act: write, expect: counted });
  expect((await client.list(postType)).items).toEqual([]);
});

test('a controller that relies on its memory instead of the current state fails', async () => {
  // It assumes that a write succeeded although it failed once.
  const seen = new Map<string, string>();
  const hasty = pluginOf(async (key, { client: api, lister }) => {
    const post = lister(postType).get(key);
    if (post === undefined || seen.get(post.metadata.uid) === post.spec!.title) return;
    seen.set(post.metadata.uid, post.spec!.title);
    await writeChanges(api, postType, post, { ...post, status: { words: post.spec!.title.split(' ').length } });
  });
  const failure: unknown = await seedsUntilFailure(hasty);
  expect(failure).toBeInstanceOf(FaultyRunError);
  const { seed, message } = failure as FaultyRunError;
  expect(message).toMatch(
    new RegExp(
      `^seed ${seed}: waited 2000 ms for things to be as they must become: p\\d has the wrong number of words\nbefore that:\n(.|\n)*: patchStatus posts p`,
    ),
  );
});

test('a controller that never becomes idle fails', async () => {
  const neverIdle = pluginOf(async (key, { client: api, lister }) => {
    const post = lister(postType).get(key);
    if (post === undefined) return;
    await writeChanges(api, postType, post, {
      ...post,
      metadata: { ...post.metadata, annotations: { life: lifeOf(api) } },
      status: { words: post.spec!.title.split(' ').length },
    });
  });
  await expect(
    runControllersUnderFaults({ client, plugin: neverIdle, seed: 1, act: write, expect: counted, timeoutMs: 3000 }),
  ).rejects.toThrow(/^seed 1: started again on a settled world, the controllers changed posts \/p\d/);
});

test("an error in the users' operations fails the run", async () => {
  const act = (): Promise<void> => Promise.reject(new Error('a mistake of the test'));
  await expect(runControllersUnderFaults({ client, plugin: right, seed: 9, act, expect: counted })).rejects.toThrow(
    /^seed 9: a mistake of the test/,
  );
});

async function seedsUntilFailure(plugin: typeof right): Promise<unknown> {
  for (let seed = 1; seed <= 20; seed += 1) {
    try {
      await runControllersUnderFaults({ client, plugin, seed, act: write, expect: counted, timeoutMs: 2000 });
    } catch (error) {
      return error;
    }
  }
  return undefined;
}

const lives = new Map<Client, string>();

/** Different for each life of the controllers. */
function lifeOf(api: Client): string {
  const known = lives.get(api) ?? String(lives.size);
  lives.set(api, known);
  return known;
}
