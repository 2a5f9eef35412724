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
import { Cache } from './cache.ts';
import { CachedClient } from './cached-client.ts';
import { Informer } from './informer.ts';

const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const everything: FaultRates = { droppedWatch: 0.15, expired: 0.3, unavailable: 0.3, delayedEvent: 0.5 };

let env: TestEnv;
let client: Client;
beforeAll(async () => {
  env = await startTestEnv();
  client = env.servers[0]!.client;
  await definePosts(env);
});
afterAll(() => env.stop());

/** Builds an object store from the events of one listener. */
class Follower {
  readonly present = new Map<string, Post>();
  readonly faults: string[] = [];
  leave: () => void = () => undefined;

  readonly hear = (event: ObjectEvent<Post>): void => {
    const { name, uid } = event.object.metadata;
    const known = this.present.get(name);
    if (event.type === 'create' && known !== undefined) this.faults.push(`${name} was made twice`);
    if (event.type !== 'create' && known?.metadata.uid !== uid)
      this.faults.push(`${name}: ${event.type} of an object it was not told of`);
    if (event.type === 'update' && event.old !== known) this.faults.push(`${name}: an update of something else`);
    if (
      event.type === 'update' &&
      BigInt(event.object.metadata.resourceVersion) <= BigInt(event.old.metadata.resourceVersion)
    )
      this.faults.push(`${name} went back`);
    if (event.type === 'delete') this.present.delete(name);
    else this.present.set(name, event.object);
  };
}

async function writeAtRandom(random: SeededRandom, run: string): Promise<void> {
  const name = `${run}-${random.below(6)}`;
  try {
    const kind = random.below(3);
    if (kind === 0) await client.delete(postType, { namespace: '', name });
    else if (kind === 1) await client.create(postType, newPost(name, 'a title', { labels: { run } }));
    else
      await client.patch(
        postType,
        { namespace: '', name },
        { type: 'merge', patch: { spec: { title: `title ${random.next()}` } } },
      );
  } catch (error) {
    if (!isStatusError(error, 'NotFound') && !isStatusError(error, 'AlreadyExists')) throw error;
  }
}

describe('a listener of a cache, added at any time, receives a consistent sequence of events', () => {
  test.each([1, 2, 3, 4])('and holds the final state (seed %i)', async (seed) => {
    const random = new SeededRandom(seed);
    const run = `follow-${seed}`;
    const faulty = new FaultyClient({ client, seed, rates: everything });
    const informer = new Informer({
      client: faulty,
      type: postType,
      selection: { labelSelector: `run=${run}` },
      log: silent,
      backoff: { baseMs: 1, maxMs: 5 },
    });
    const followers: Follower[] = [];
    const gone: Follower[] = [];
    informer.start();
    for (let i = 0; i < 60; i += 1) {
      await writeAtRandom(random, run);
      if (random.chance(0.15)) {
        const follower = new Follower();
        follower.leave = informer.listen(follower.hear);
        followers.push(follower);
      }
      if (random.chance(0.05) && followers.length > 1) {
        const [follower] = followers.splice(random.below(followers.length), 1);
        follower!.leave();
        gone.push(follower!);
      }
    }
    faulty.heal();
    const { metadata } = await client.create(postType, newPost(`${run}-last`, 'last', { labels: { run } }));
    await informer.waitUntil(
      () => informer.indexer.get({ namespace: '', name: metadata.name }) !== undefined,
      AbortSignal.timeout(20_000),
    );
    const { items } = await client.list(postType, { labelSelector: `run=${run}`, omitManagedFields: true });
    for (const follower of followers)
      expect(follower.present).toEqual(new Map(items.map((post) => [post.metadata.name, post])));
    for (const { faults } of [...followers, ...gone]) expect(faults).toEqual([]);
    await informer.stop();
  });
});

describe('a client that writes through a cache reads its own writes', () => {
  test.each([1, 2, 3, 4])('despite faults of its watch, and with other writers (seed %i)', async (seed) => {
    const random = new SeededRandom(seed);
    const faulty = new FaultyClient({ client, seed, rates: { ...everything, unavailable: 0 } });
    const cache = new Cache({ client: faulty, log: silent, backoff: { baseMs: 1, maxMs: 5 } });
    // Its reads and writes do not fail: the test is about the cache.
    const cached = new CachedClient({ client, cache });
    cache.informerFor(postType);
    cache.start();
    const mine = new Map<string, string>();
    for (let i = 0; i < 30; i += 1) {
      const name = `mine-${seed}-${random.below(4)}`;
      const key = { namespace: '', name };
      const title = `title ${i}`;
      const others = writeAtRandom(random, `others-${seed}`);
      if (!mine.has(name)) await cached.create(postType, newPost(name, title));
      else if (random.chance(0.3)) await cached.delete(postType, key);
      else await cached.patch(postType, key, { type: 'merge', patch: { spec: { title } } });
      const found = await cached.get(postType, key).catch((error: unknown) => {
        if (!isStatusError(error, 'NotFound')) throw error;
      });
      if (found === undefined) expect(mine.delete(name)).toBe(true);
      else expect(found.spec!.title).toBe(title);
      if (found !== undefined) mine.set(name, title);
      const { items } = await cached.list(postType);
      const listed = items
        .filter(({ metadata }) => metadata.name.startsWith(`mine-${seed}-`))
        .map(({ metadata, spec }) => [metadata.name, spec!.title] as const);
      expect(new Map(listed)).toEqual(mine);
      await others;
    }
    await cache.stop();
  });
});
