import { setTimeout as delay } from 'node:timers/promises';
import type { ClientEvent } from '../../../pkg/apimachinery/index.ts';
import { SeededRandom } from '../../../pkg/testenv/faults/seeded-random.ts';
import type { Post } from '../../../pkg/testenv/index.ts';
import type { NetworkFaultRates } from '../../../pkg/webclient/webclienttest/noisy-proxy.ts';
import type { Resource, ResourceType } from '../../../pkg/webclient/index.ts';
import { revisionsOf, textsOf, type Selection } from './followed-lists.ts';
import type { Replicas } from './replicas.ts';

/** A browser behind a bad network of its own, with pages that follow. */
export interface FollowingBrowser {
  /** Breaks its connections to this server. */
  cut(url: string): void;
  /** Called after each write: now and then something happens to it. */
  disturb(): void;
  /** Nothing comes any more: rejects if a page does not say so in time. */
  expectStale(): Promise<void>;
  /** The faults end. */
  heal(): void;
  /** As soon as it has what is `stored`, or after a long time. */
  result(stored: Record<string, string>[], watched: readonly string[]): Promise<BrowserResult>;
  stop(): Promise<void>;
}

export interface FollowingBrowserOptions {
  replicas: Replicas;
  model: ResourceType<Post>;
  seed: number;
  rates: NetworkFaultRates;
  selections: readonly Selection[];
  since: string;
}

export interface BrowserResult {
  seed: number;
  /** What the live lists of its pages had in the end, and what the server has: of each selection, revisions by name. */
  held: Record<string, string>[];
  stored: Record<string, string>[];
  /** The events of one subscription of a page's own stream, and those of a watch without faults. */
  followed: string[];
  watched: string[];
  /** What must not be: an object that went back, an event twice or out of order, a silence that was not told. */
  faults: string[];
  /** Which of the faults of this run it had. */
  seen: readonly string[];
}

export interface LiveRun {
  replicas: Replicas;
  /** Without faults. */
  posts: Resource<Post>;
  /** Each has a browser and a network of its own; the objects have names of the first one. */
  seeds: readonly number[];
  writes: number;
  /** After each write. */
  pauseMs: number;
  start: (options: FollowingBrowserOptions) => Promise<FollowingBrowser>;
}

/**
 * Random writes, while live lists of each seed follow them through a bad network over two replicas that restart. Then the
 * servers are silent, until every page must say so; then the faults end.
 */
export async function runLive({ replicas, posts, seeds, writes, pauseMs, start }: LiveRun): Promise<BrowserResult[]> {
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
  const browsers: FollowingBrowser[] = [];
  try {
    await Promise.all(
      seeds.map(async (seed, i) => {
        browsers[i] = await start({ replicas, model: posts.model, seed, rates: ratesOf(seed), selections, since });
        replicas.clients.add(browsers[i]);
      }),
    );
    for (let i = 0; i < writes; i += 1) {
      await writeOne(posts, run, random);
      await delay(pauseMs);
      for (const browser of browsers) browser.disturb();
      if (random.chance(0.05)) replicas.restart(random);
    }
    await replicas.restarted();
    await Promise.all(browsers.map((browser) => browser.expectStale()));
    const stored = await Promise.all(selections.map((selection) => storedRevisions(posts, selection)));
    for (const browser of browsers) browser.heal();
    return await Promise.all(browsers.map((browser) => browser.result(stored, watched)));
  } finally {
    end.abort();
    for (const browser of browsers) replicas.clients.delete(browser);
    await Promise.all(browsers.map((browser) => browser.stop()));
  }
}

function ratesOf(seed: number): NetworkFaultRates {
  const random = new SeededRandom(seed);
  const rate = (most: number): number => random.next() * most;
  return {
    refused: rate(0.3),
    lostAnswer: rate(0.3),
    expired: rate(0.3),
    halved: rate(0.3),
    frozen: rate(0.1),
    unanswered: rate(0.1),
  };
}

/** The events so far, and those that come. */
function collect(watch: AsyncIterable<ClientEvent<Post>>): string[] {
  const events: string[] = [];
  void (async () => {
    for await (const event of watch) events.push(...textsOf(event));
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
