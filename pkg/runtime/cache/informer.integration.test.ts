import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { isStatusError, type Client } from '#pkg/apimachinery/index';
import {
  definePosts,
  FaultyClient,
  newPost,
  postType,
  SeededRandom,
  startTestEnv,
  type FaultRates,
  type Post,
  type TestEnv,
} from '../../testenv/index.ts';
import type { ObjectEvent } from '../event/object-event.ts';
import type { Log } from '../log.ts';
import { Informer } from './informer.ts';

const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

let env: TestEnv;
let client: Client;
beforeAll(async () => {
  env = await startTestEnv();
  client = env.servers[0]!.client;
  await definePosts(env);
});
afterAll(() => env.stop());

/** Creates, updates and deletes a few objects in a random order. */
async function writeAtRandom(random: SeededRandom, run: string, writes: number): Promise<void> {
  const labels = { run };
  for (let i = 0; i < writes; i += 1) {
    const name = `${run}-${random.below(6)}`;
    try {
      const kind = random.below(4);
      if (kind === 0) await client.delete(postType, { namespace: '', name });
      else if (kind === 1) await client.create(postType, newPost(name, `title ${i}`, { labels }));
      else
        await client.patch(
          postType,
          { namespace: '', name },
          {
            type: 'merge',
            patch:
              kind === 2
                ? { spec: { title: `title ${i}` } }
                : { metadata: { labels: { run: random.chance(0.2) ? 'elsewhere' : run } } },
          },
        );
    } catch (error) {
      if (!isStatusError(error, 'NotFound') && !isStatusError(error, 'AlreadyExists')) throw error;
    }
  }
}

/** Checks the events of one object: first a create, then updates, finally a delete, with increasing revisions. */
function checkHistory(events: readonly ObjectEvent<Post>[]): void {
  const present = new Map<string, ObjectEvent<Post>>();
  for (const event of events) {
    const { name, resourceVersion, uid } = event.object.metadata;
    const last = present.get(name);
    if (event.type === 'create') expect(last).toBeUndefined();
    else expect(last?.object.metadata.uid).toBe(uid);
    if (event.type === 'update') {
      expect(event.old).toEqual(last!.object);
      expect(BigInt(resourceVersion)).toBeGreaterThan(BigInt(event.old.metadata.resourceVersion));
    }
    if (event.type === 'delete') present.delete(name);
    else present.set(name, event);
  }
}

const kinds: { reason: string; rates: FaultRates }[] = [
  { reason: 'there are no faults', rates: {} },
  { reason: 'watches drop', rates: { droppedWatch: 0.2 } },
  { reason: 'history expires', rates: { droppedWatch: 0.2, expired: 0.5 } },
  {
    reason: 'there are faults of all kinds',
    rates: { droppedWatch: 0.15, expired: 0.3, unavailable: 0.3, delayedEvent: 0.5 },
  },
];

describe.each(kinds)('an informer where $reason', ({ rates }) => {
  test.each([1, 2, 3])('holds the final state, after a consistent sequence of events (seed %i)', async (seed) => {
    const random = new SeededRandom(seed);
    const run = `run-${kinds.findIndex((kind) => kind.rates === rates)}-${seed}`;
    await writeAtRandom(random, run, 10);
    const faulty = new FaultyClient({ client, seed, rates });
    const informer = new Informer({
      client: faulty,
      type: postType,
      selection: { labelSelector: `run=${run}` },
      log: silent,
      backoff: { baseMs: 1, maxMs: 5 },
    });
    const events: ObjectEvent<Post>[] = [];
    informer.listen((event) => events.push(event));
    informer.start();
    await writeAtRandom(random, run, 60);
    faulty.heal();
    // This change marks the end: when the cache has it, it has everything before.
    const last = await client.create(postType, newPost(`${run}-last`, 'last', { labels: { run } }));
    await informer.waitUntil(
      () => informer.indexer.get({ namespace: '', name: last.metadata.name }) !== undefined,
      AbortSignal.timeout(60_000),
    );
    const { items } = await client.list(postType, { labelSelector: `run=${run}`, omitManagedFields: true });
    const byName = (a: Post, b: Post): number => (a.metadata.name < b.metadata.name ? -1 : 1);
    expect(Array.from(informer.indexer.all()).toSorted(byName)).toEqual(items.toSorted(byName));
    checkHistory(events);
    await informer.stop();
  });
});

test('returns objects that cannot be changed', async () => {
  const informer = new Informer({ client, type: postType, log: silent });
  await client.create(postType, newPost('frozen'));
  informer.start();
  await informer.waitForSync();
  const post = informer.indexer.get({ namespace: '', name: 'frozen' })!;
  expect(() => (post.spec!.title = 'mine')).toThrow(TypeError);
  await informer.stop();
});

test('reports all existing objects to a listener that is added later', async () => {
  const informer = new Informer({ client, type: postType, selection: { labelSelector: 'late=yes' }, log: silent });
  await client.create(postType, newPost('late', 'a title', { labels: { late: 'yes' } }));
  informer.start();
  await informer.waitForSync();
  const received: string[] = [];
  const unlisten = informer.listen(({ type, object }) => received.push(`${type} ${object.metadata.name}`));
  expect(received).toEqual(['create late']);
  unlisten();
  await client.delete(postType, { namespace: '', name: 'late' });
  await informer.waitUntil(() => informer.indexer.size === 0, AbortSignal.timeout(60_000));
  expect(received).toEqual(['create late']);
  await informer.stop();
});
