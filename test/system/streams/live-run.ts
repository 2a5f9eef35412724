import { setTimeout as delay } from 'node:timers/promises';
import type { ClientEvent } from '../../../pkg/apimachinery/index.ts';
import { SeededRandom } from '../../../pkg/testenv/faults/seeded-random.ts';
import type { Post } from '../../../pkg/testenv/index.ts';
import type { NetworkFaultRates } from '../../../pkg/webclient/webclienttest/noisy-proxy.ts';
import type { Resource } from '../../../pkg/webclient/index.ts';
import { NoisyBrowser, revisionsOf, textsOf, type BrowserResult, type Selection } from './noisy-browser.ts';
import type { Replicas } from './replicas.ts';

export interface LiveRun {
  replicas: Replicas;
  /** Without faults. */
  posts: Resource<Post>;
  /** Each has a browser and a network of its own; the objects have names of the first one. */
  seeds: readonly number[];
  writes: number;
}

/**
 * Random writes, while live lists of each seed follow them through a bad network over two replicas that restart. Then the
 * servers are silent, until every page must say so; then the faults end.
 */
export async function runLive({ replicas, posts, seeds, writes }: LiveRun): Promise<BrowserResult[]> {
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
  const browsers = await Promise.all(
    seeds.map((seed) =>
      NoisyBrowser.start({ replicas, model: posts.model, seed, rates: ratesOf(seed), selections, since }),
    ),
  );
  try {
    for (let i = 0; i < writes; i += 1) {
      await writeOne(posts, run, random);
      for (const browser of browsers) browser.disturb();
      if (random.chance(0.05)) replicas.restart(random, browsers);
    }
    await replicas.restarted();
    await Promise.all(browsers.map((browser) => browser.expectStale()));
    const stored = await Promise.all(selections.map((selection) => storedRevisions(posts, selection)));
    for (const browser of browsers) browser.heal();
    return await Promise.all(browsers.map((browser) => browser.result(stored, watched)));
  } finally {
    end.abort();
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
  // So that the clocks of the pages, which are faster, go on.
  await delay(5);
}

async function storedRevisions(posts: Resource<Post>, selection: Selection): Promise<Record<string, string>> {
  return revisionsOf((await posts.list({ ...selection, limit: 1000 })).items);
}
