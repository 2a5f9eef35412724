import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { isApplyConflict, isStatusError, type Client, type Stored } from '#pkg/apimachinery/index';
import { definePosts, newPost, postType, type Post } from '../post-model.ts';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { CrashError } from './crash-error.ts';
import { FaultyClient, type FaultRates } from './faulty-client.ts';

let env: TestEnv;
let steady: Client;
let names = 0;

beforeAll(async () => {
  env = await startTestEnv();
  steady = env.servers[0]!.steadyClient;
  await definePosts(env);
});
afterAll(() => env.stop());

function faulty(rates: FaultRates, seed = 1): FaultyClient {
  return new FaultyClient({ client: steady, seed, rates });
}

function newName(): string {
  names += 1;
  return `post-${names}`;
}

async function exists(name: string): Promise<boolean> {
  return steady.get(postType, { namespace: '', name }).then(
    () => true,
    (error: unknown) => {
      if (!isStatusError(error, 'NotFound')) throw error;
      return false;
    },
  );
}

test.each([
  ['unavailable', 'ServiceUnavailable', false],
  ['tooManyRequests', 'TooManyRequests', false],
  ['lostAnswer', 'ServiceUnavailable', true],
] as const)('%s: the write fails as %s; it was done: %s', async (fault, reason, isMade) => {
  const name = newName();
  await expect(faulty({ [fault]: 1 }).create(postType, newPost(name))).rejects.toMatchObject({ reason });
  expect(await exists(name)).toBe(isMade);
});

test('only writes with a revision get a conflict', async () => {
  const client = faulty({ conflict: 1 });
  const post = await client.create(postType, newPost(newName()));
  const key = { namespace: '', name: post.metadata.name };
  await expect(client.update(postType, post)).rejects.toMatchObject({ reason: 'Conflict' });
  await expect(
    client.patch(postType, key, {
      type: 'merge',
      patch: { metadata: { resourceVersion: post.metadata.resourceVersion } },
    }),
  ).rejects.toMatchObject({ reason: 'Conflict' });
  await expect(client.delete(postType, key, { resourceVersion: post.metadata.resourceVersion })).rejects.toMatchObject({
    reason: 'Conflict',
  });
  await client.patch(postType, key, { type: 'merge', patch: { spec: { title: 'another' } } });
  client.heal();
  await client.delete(postType, key);
});

test('only applies without force get a conflict of managers', async () => {
  const client = faulty({ fieldConflict: 1 });
  const post = await client.create(postType, newPost(newName()));
  const { apiVersion, kind, metadata } = post;
  const wanted = { apiVersion, kind, metadata: { name: metadata.name }, spec: { title: 'applied' } };
  const refused = await client.apply(postType, wanted).catch((error: unknown) => error);
  expect(isApplyConflict(refused) && refused.conflicts).toEqual([{ manager: 'somebody-else', field: '.spec' }]);
  expect((await client.apply(postType, wanted, { force: true })).spec?.title).toBe('applied');
});

test('a watch starts too late or ends after an event', async () => {
  const { resourceVersion } = await steady.list(postType);
  await expect(faulty({ expired: 1 }).watch(postType, { resourceVersion })).rejects.toMatchObject({
    reason: 'Expired',
  });
  for (let i = 0; i < 3; i += 1) await steady.create(postType, newPost(newName()));
  const seen: string[] = [];
  for await (const event of await faulty({ droppedWatch: 0.5, delayedEvent: 1 }, 5).watch(postType, {
    resourceVersion,
  })) {
    if (event.type !== 'BOOKMARK') seen.push(event.object.metadata.name);
    if (seen.length === 3) break;
  }
  expect(seen.length).toBeLessThan(3);
});

test('after a crash the process reaches nothing, and the next process everything', async () => {
  const made = await Promise.all(
    Array.from({ length: 12 }, async (_, seed) => {
      const client = faulty({ crash: 1 }, seed);
      const name = newName();
      await expect(client.create(postType, newPost(name))).rejects.toBeInstanceOf(CrashError);
      await client.crashed;
      const isMade = await exists(name);
      client.heal();
      await expect(client.list(postType)).rejects.toBeInstanceOf(CrashError);
      await client.restarted().list(postType);
      return isMade;
    }),
  );
  expect(new Set(made)).toEqual(new Set([true, false]));
});

test('a write in progress at the crash may still be done, without an answer', async () => {
  const client = faulty({ lateAnswer: 1 });
  const name = newName();
  const underWay = expect(client.create(postType, newPost(name))).rejects.toBeInstanceOf(CrashError);
  client.setRates({ crash: 1 });
  await expect(client.delete(postType, { namespace: '', name: 'x' })).rejects.toThrow();
  await underWay;
  expect(await exists(name)).toBe(true);
});

test('the same seed gives the same faults', async () => {
  const outcomes = async (seed: number): Promise<string[]> => {
    const client = faulty({ unavailable: 0.3, lostAnswer: 0.3 }, seed);
    const key = { namespace: '', name: 'seeded' };
    return Promise.all(
      Array.from({ length: 30 }, () =>
        client.patch(postType, key, { type: 'merge', patch: {} }).then(
          (): string => 'done',
          (error: Error) => error.message,
        ),
      ),
    );
  };
  await steady.create(postType, newPost('seeded'));
  const first = await outcomes(11);
  expect(await outcomes(11)).toEqual(first);
  expect(await outcomes(12)).not.toEqual(first);
});

test('a test environment with faults gives every server a faulty client, until the faults end', async () => {
  const disturbed = await startTestEnv({ replicas: 2, faults: { seed: 1, unavailable: 1 } });
  try {
    for (const { client } of disturbed.servers)
      await expect(client.list(postType)).rejects.toMatchObject({ reason: 'ServiceUnavailable' });
    disturbed.heal();
    await definePosts(disturbed);
    const post: Stored<Post> = await disturbed.servers[0]!.client.create(postType, newPost('a'));
    expect((await disturbed.servers[1]!.steadyClient.list(postType)).items).toEqual([post]);
  } finally {
    await disturbed.stop();
  }
});
