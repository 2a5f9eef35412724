import { setTimeout as delay } from 'node:timers/promises';
import type { ClientEvent, Stored } from '#pkg/apimachinery/index';
import { SeededRandom } from '../../testenv/faults/seeded-random.ts';
import type { Post, TestEnv } from '../../testenv/index.ts';
import { connect } from '../connect.ts';
import type { LiveList } from '../live/live-list.ts';
import { live } from '../live/live.ts';
import { ownSource } from '../live/selection-source.ts';
import type { ChangeSink } from '../live-source.ts';
import type { IndexTypes, WhereSelection } from '../resource/query.ts';
import type { Resource } from '../resource/resource.ts';
import { sharedWorkerFeeds } from '../worker/shared-worker-feeds.ts';
import { fetchAs, sessionFetch, TestWorker } from './worker-session.ts';
import { NoisyProxy, noFaults, type NetworkFaultRates } from './noisy-proxy.ts';

export interface LiveRun {
  env: TestEnv;
  /** Without faults. */
  posts: Resource<Post>;
  /** Each has a network of its own; the objects have names of the first one. */
  seeds: readonly number[];
  writes: number;
  /** Default: by seed. */
  rates?: NetworkFaultRates;
}

export interface LiveRunResult {
  seed: number;
  /** What the live lists had in the end, and what the server has: of each selection, revisions by name. */
  held: Record<string, string>[];
  stored: Record<string, string>[];
  /** A change that went back in an object's revisions. */
  reversals: string[];
  /** The events of one subscription of the same stream, and those of a watch without faults. */
  followed: string[];
  watched: string[];
}

/**
 * Random writes, while live lists of each seed follow them by one stream through a bad network over all replicas: by the
 * stream of the page, with odd seeds by that of a worker. Then the faults end.
 */
export async function runLive({ env, posts, seeds, writes, rates }: LiveRun): Promise<LiveRunResult[]> {
  const first = seeds[0]!;
  const random = new SeededRandom(first);
  const run = `run-${first}-`;
  const labels = { run: String(first) };
  const names = Array.from({ length: 4 }, (_, i) => `${run}${i}`);
  const selections: Selection[] = [
    { labels },
    { where: { 'metadata.name': { in: names } } },
    { labels, where: { 'metadata.name': names[0]! } },
  ];
  const { metadata } = await posts.list({ limit: 1 });
  const since = metadata.resourceVersion;
  const end = new AbortController();
  const watched = collect(await posts.watch({ since, labels, signal: end.signal }));
  const followers = await Promise.all(
    seeds.map((seed) => NoisyFollower.start({ env, posts, seed, rates: rates ?? ratesOf(seed), selections, since })),
  );
  try {
    for (let i = 0; i < writes; i += 1) {
      await writeOne(posts, run, random);
      for (const follower of followers) follower.disturb();
    }
    const stored = await Promise.all(selections.map((selection) => storedRevisions(posts, selection)));
    for (const follower of followers) follower.heal();
    return await Promise.all(followers.map((follower) => follower.result(stored, watched)));
  } finally {
    end.abort();
    await Promise.all(followers.map((follower) => follower.stop()));
  }
}

function ratesOf(seed: number): NetworkFaultRates {
  const random = new SeededRandom(seed);
  const rate = (most: number): number => random.next() * most;
  return { refused: rate(0.3), lostAnswer: rate(0.3), expired: rate(0.3), halved: rate(0.3), frozen: rate(0.1) };
}

interface NoisyFollowerOptions {
  env: TestEnv;
  posts: Resource<Post>;
  seed: number;
  rates: NetworkFaultRates;
  selections: readonly Selection[];
  since: string;
}

/** The lists of one page behind a bad network. */
class NoisyFollower {
  readonly #seed: number;
  readonly #random: SeededRandom;
  readonly #proxy: NoisyProxy;
  readonly #worker: TestWorker | undefined;
  readonly #posts: Resource<Post>;
  readonly #lists: LiveList<Post>[];
  readonly #reversals: string[] = [];
  readonly #followed: string[];
  readonly #end = new AbortController();

  private constructor(
    proxy: NoisyProxy,
    worker: TestWorker | undefined,
    posts: Resource<Post>,
    own: Resource<Post>,
    { seed, selections, since }: NoisyFollowerOptions,
  ) {
    this.#seed = seed;
    this.#random = new SeededRandom(seed);
    this.#proxy = proxy;
    this.#worker = worker;
    this.#posts = posts;
    this.#followed = follow(own, selections[0]!.labels as Record<string, string>, since, this.#end.signal);
    this.#lists = selections.map((selection) => live(posts, selection));
    for (const list of this.#lists) this.#noteReversals(list);
  }

  static async start(options: NoisyFollowerOptions): Promise<NoisyFollower> {
    const { env, posts, seed, rates } = options;
    const proxy = await NoisyProxy.start(
      env.servers.map(({ url }) => url),
      seed,
      noFaults,
    );
    const facts = { url: proxy.url, maxSilenceMs: 400 };
    const own = connect({ ...facts, credential: env.token });
    const tokens = new Map([['page', env.token]]);
    const worker = seed % 2 === 1 ? new TestWorker({ fetch: fetchAs(tokens), maxSilenceMs: 400 }) : undefined;
    const page =
      worker === undefined
        ? own
        : connect({ ...facts, fetch: sessionFetch(tokens, 'page'), feeds: sharedWorkerFeeds(worker.open) });
    if (worker !== undefined) await page.currentSession();
    proxy.rates = rates;
    return new NoisyFollower(proxy, worker, page.resource(posts.model), own.resource(posts.model), options);
  }

  /** Now and then every connection breaks, and lists come and go, of which the others miss nothing. */
  disturb(): void {
    if (this.#random.chance(0.02)) this.#proxy.cutAll();
    if (this.#random.chance(0.1)) live(this.#posts, { labels: { run: `${this.#random.below(1e6)}` } }).stop();
  }

  heal(): void {
    this.#proxy.rates = noFaults;
    this.#proxy.cutAll();
  }

  /** As soon as it has what is stored, or after a long time. */
  async result(stored: Record<string, string>[], watched: string[]): Promise<LiveRunResult> {
    const held = (): Record<string, string>[] => this.#lists.map((list) => revisionsOf(list.current));
    for (let tries = 0; tries < 600 && !(isSame(held(), stored) && isSame(this.#followed, watched)); tries += 1)
      await delay(50);
    return {
      seed: this.#seed,
      held: held(),
      stored,
      reversals: this.#reversals,
      followed: this.#followed,
      watched: [...watched],
    };
  }

  async stop(): Promise<void> {
    this.#end.abort();
    for (const list of this.#lists) list.stop();
    this.#worker?.stop();
    await this.#proxy.stop();
  }

  #noteReversals(list: LiveList<Post>): void {
    const newest = new Map<string, number>();
    list.subscribe(() => {
      for (const { metadata } of list.current) {
        const revision = Number(metadata.resourceVersion);
        if (revision < (newest.get(metadata.uid) ?? 0))
          this.#reversals.push(`${metadata.name} went back to ${revision}`);
        newest.set(metadata.uid, revision);
      }
    });
  }
}

type Selection = WhereSelection<IndexTypes>;

const textOf = (event: ClientEvent<Post>): string[] =>
  event.type === 'BOOKMARK'
    ? []
    : [`${event.type} ${event.object.metadata.name} ${event.object.metadata.resourceVersion}`];

/** The events so far, and those that come. */
function collect(watch: AsyncIterable<ClientEvent<Post>>): string[] {
  const events: string[] = [];
  void (async () => {
    for await (const event of watch) events.push(...textOf(event));
  })();
  return events;
}

/** The same of a subscription that goes on after each error, whatever it says: the history is there. */
function follow(noisy: Resource<Post>, labels: Record<string, string>, since: string, signal: AbortSignal): string[] {
  const events: string[] = [];
  let position = since;
  const sink: ChangeSink<Post> = {
    live: () => undefined,
    behind: () => undefined,
    take: (batch) => {
      for (const event of batch) {
        events.push(...textOf(event));
        position = event.type === 'BOOKMARK' ? event.resourceVersion : event.object.metadata.resourceVersion;
      }
    },
  };
  const source = ownSource(noisy, { labels }, false);
  void (async () => {
    while (!signal.aborted) {
      await source.follow(position, sink, signal).catch(() => undefined);
      await delay(20);
    }
  })();
  return events;
}

async function writeOne(posts: Resource<Post>, run: string, random: SeededRandom): Promise<void> {
  const name = `${run}${random.below(8)}`;
  const labels = { run: run.split('-')[1]! };
  const existing = await posts.get(name).catch(() => undefined);
  if (existing === undefined)
    await posts.create({ metadata: { name, labels }, spec: { title: String(random.below(1000)) } });
  else if (random.chance(0.3)) await posts.remove(name);
  // Out of the selection, or into it again.
  else if (random.chance(0.2))
    await posts.patch(name, {
      metadata: { labels: { run: existing.metadata.labels?.['run'] === undefined ? labels.run : null } },
    });
  else await posts.patch(name, { spec: { title: String(random.below(1000)) } });
}

async function storedRevisions(posts: Resource<Post>, selection: Selection): Promise<Record<string, string>> {
  return revisionsOf((await posts.list({ ...selection, limit: 1000 })).items);
}

function revisionsOf(items: readonly Stored<Post>[]): Record<string, string> {
  return Object.fromEntries(items.map(({ metadata }) => [metadata.name, metadata.resourceVersion]));
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
