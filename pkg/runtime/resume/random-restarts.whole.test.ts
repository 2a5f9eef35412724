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
import { controllerFor, enqueueMapped, ItemBackoff, Manager, type ControllerDefinition, type Log } from '../index.ts';

const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

let env: TestEnv;
let client: Client;
beforeAll(async () => {
  env = await startTestEnv();
  client = env.servers[0]!.client;
  await definePosts(env);
});
afterAll(() => env.stop());

/** External state for each post: its title, and, if posts are mapped to authors, the posts that name an author. */
type Books = Map<string, string>;

function entryOf(post: Post, all: readonly Post[], isMapped: boolean): string {
  if (!isMapped) return post.spec!.title;
  const children = all.filter(({ spec }) => spec?.author === post.metadata.name).map(({ metadata }) => metadata.name);
  return `${post.spec!.title} ${children.toSorted().join(',')}`;
}

/** Writes the external state, which survives restarts; fails and requeues at random. */
function bookkeeper(
  run: string,
  books: Books,
  { isMapped, random, onLook }: { isMapped: boolean; random: () => SeededRandom | undefined; onLook: () => void },
): ControllerDefinition {
  const toAuthor = enqueueMapped<Post>(({ spec }) =>
    spec?.author === undefined ? [] : [{ namespace: '', name: spec.author }],
  );
  const builder = controllerFor(postType)
    .named(`bookkeeper-${run}`)
    .withResume({ intervalMs: 5 })
    .withTuning({ limiter: () => new ItemBackoff({ baseMs: 1, maxMs: 5 }) });
  // Separate cases, because with a mapping a changed object makes a restart reconcile everything, which would hide
  // missed objects.
  return (isMapped ? builder.watches(postType, toAuthor) : builder).reconcile(
    async ({ namespace, name }, { lister, signal }) => {
      if (!name.startsWith(run)) return undefined;
      // Some reconciles are running when the term ends.
      for (let turns = random()?.below(10) ?? 0; turns > 0; turns -= 1) await new Promise(setImmediate);
      signal.throwIfAborted();
      if (random()?.chance(0.2) === true) throw new Error('by chance');
      const posts = lister(postType);
      const post = posts.get({ namespace, name });
      if (post === undefined) books.delete(name);
      else if (random()?.chance(0.2) === true) return { requeueAfterMs: 20 };
      else books.set(name, entryOf(post, posts.list(), isMapped));
      onLook();
      return undefined;
    },
  );
}

async function writeAtRandom(random: SeededRandom, run: string, writes: number): Promise<void> {
  const anyName = (): string => `${run}-${random.below(6)}`;
  for (let i = 0; i < writes; i += 1) {
    const key = { namespace: '', name: anyName() };
    try {
      const kind = random.below(4);
      if (kind === 0) await client.delete(postType, key);
      else if (kind === 1)
        await client.create(postType, {
          ...newPost(key.name),
          spec: { title: `title ${random.below(100)}`, author: anyName() },
        });
      else
        await client.patch(postType, key, {
          type: 'merge',
          patch: { spec: kind === 2 ? { title: `title ${random.below(100)}` } : { author: anyName() } },
        });
    } catch (error) {
      if (!isStatusError(error, 'NotFound') && !isStatusError(error, 'AlreadyExists')) throw error;
    }
  }
}

const worlds: { reason: string; rates: FaultRates; learnsOfDeletions: boolean }[] = [
  { reason: 'it is only stopped', rates: {}, learnsOfDeletions: true },
  {
    reason: 'watches drop and writes fail',
    rates: { droppedWatch: 0.1, unavailable: 0.1, lostAnswer: 0.1, delayedEvent: 0.3 },
    learnsOfDeletions: true,
  },
  {
    reason: 'history expires at times',
    rates: { droppedWatch: 0.1, expired: 0.4, delayedEvent: 0.3 },
    learnsOfDeletions: false,
  },
];

describe.each(worlds)('a controller that resumes, where $reason', ({ rates, learnsOfDeletions }) => {
  test.each([1, 2, 3])('misses nothing over restarts at random times (seed %i)', async (seed) => {
    const random = new SeededRandom(seed);
    const run = `w${worlds.findIndex((world) => world.rates === rates)}s${seed}`;
    const books: Books = new Map();
    const isMapped = seed % 3 === 0;
    let chance: SeededRandom | undefined = new SeededRandom(seed + 100);
    let isDone = (): boolean => false;
    let notify = (): void => undefined;
    const definition = bookkeeper(run, books, { isMapped, random: () => chance, onLook: () => isDone() && notify() });
    const faulty = new FaultyClient({ client, seed, rates });
    for (let life = 0; life < 6; life += 1) {
      await writeAtRandom(random, run, random.below(8));
      // A killed process stores nothing more.
      const isCrash = random.chance(0.5);
      const own = faulty.restarted();
      const manager = new Manager({
        client: own,
        log: silent,
        name: run,
        controllers: [definition],
        stopTimeoutMs: 1000,
      });
      manager.start();
      await writeAtRandom(random, run, random.below(25));
      if (isCrash) faulty.setRates({ crash: 1 });
      await Promise.all([manager.stop(), writeAtRandom(random, run, 4)]);
      faulty.setRates(rates);
    }
    faulty.heal();
    chance = undefined;
    const { items } = await client.list(postType);
    const ours = items.filter(({ metadata }) => metadata.name.startsWith(run));
    const wanted = new Map(ours.map((post) => [post.metadata.name, entryOf(post, items, isMapped)]));
    isDone = () =>
      Array.from(wanted).every(([name, entry]) => books.get(name) === entry) &&
      (!learnsOfDeletions || books.size === wanted.size);
    const done = new Promise<void>((resolve) => (notify = resolve));
    const manager = new Manager({ client: faulty.restarted(), log: silent, name: run, controllers: [definition] });
    manager.start();
    let timer: NodeJS.Timeout | undefined;
    const overdue = new Promise<void>((resolve) => (timer = setTimeout(resolve, 60_000)));
    if (!isDone()) await Promise.race([done, overdue]);
    clearTimeout(timer);
    await manager.stop();
    const present = Array.from(books).filter(([name]) => learnsOfDeletions || wanted.has(name));
    expect(new Map(present)).toEqual(wanted);
  });
});
