import { setTimeout as delay } from 'node:timers/promises';
import type { ClientEvent, Stored } from '#pkg/apimachinery/index';
import { SeededRandom } from '../../testenv/faults/seeded-random.ts';
import type { Post, TestEnv } from '../../testenv/index.ts';
import { connect } from '../connect.ts';
import { changesOf, live } from '../live/live.ts';
import type { IndexTypes, WhereSelection } from '../resource/query.ts';
import type { Resource } from '../resource/resource.ts';
import type { ChangeSink } from '../stream/shared-stream.ts';
import { NoisyProxy, noFaults, type NetworkFaultRates } from './noisy-proxy.ts';

export interface LiveRun {
  env: TestEnv;
  /** Without faults. */
  posts: Resource<Post>;
  seed: number;
  writes: number;
  rates: NetworkFaultRates;
}

export interface LiveRunResult {
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
 * Random writes with names of this seed, while several live lists follow them by one stream through a bad network over
 * all replicas; then the faults end.
 */
export async function runLive({ env, posts, seed, writes, rates }: LiveRun): Promise<LiveRunResult> {
  const random = new SeededRandom(seed);
  const proxy = await NoisyProxy.start(
    env.servers.map(({ url }) => url),
    seed,
    rates,
  );
  const connection = connect({ url: proxy.url, credential: env.token, maxSilenceMs: 400 });
  const run = `run-${seed}-`;
  const labels = { run: String(seed) };
  const names = Array.from({ length: 4 }, (_, i) => `${run}${i}`);
  const selections: Selection[] = [
    { labels },
    { where: { 'metadata.name': { in: names } } },
    { labels, where: { 'metadata.name': names[0]! } },
  ];
  const noisy = connection.resource(posts.model);
  const lists = selections.map((selection) => live(noisy, selection));
  const newest = new Map<string, number>();
  const reversals: string[] = [];
  for (const [at, list] of lists.entries())
    list.subscribe(() => {
      for (const { metadata } of list.current) {
        const revision = Number(metadata.resourceVersion);
        const key = `${at} ${metadata.uid}`;
        if (revision < (newest.get(key) ?? 0)) reversals.push(`${metadata.name} went back to ${revision}`);
        newest.set(key, revision);
      }
    });
  const { metadata } = await posts.list({ limit: 1 });
  const end = new AbortController();
  const since = metadata.resourceVersion;
  const watched = collect(await posts.watch({ since, labels, signal: end.signal }));
  const followed = follow(noisy, labels, since, end.signal);
  try {
    for (let i = 0; i < writes; i += 1) {
      await writeOne(posts, run, random);
      if (random.chance(0.02)) proxy.cutAll();
      // Lists come and go, and the others miss nothing.
      if (random.chance(0.1)) live(noisy, { labels: { run: `${seed}-${i}` } }).stop();
    }
    proxy.rates = noFaults;
    proxy.cutAll();
    const stored = await Promise.all(selections.map((selection) => storedRevisions(posts, selection)));
    const held = (): Record<string, string>[] => lists.map((list) => revisionsOf(list.current));
    for (let tries = 0; tries < 200 && !(isSame(held(), stored) && isSame(followed, watched)); tries += 1)
      await delay(50);
    return { held: held(), stored, reversals, followed, watched };
  } finally {
    end.abort();
    for (const list of lists) list.stop();
    await proxy.stop();
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
  const source = changesOf(noisy, { labels });
  void (async () => {
    while (!signal.aborted) {
      await source(position, sink, signal).catch(() => undefined);
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
