import { setTimeout as delay } from 'node:timers/promises';
import type { Stored } from '#pkg/apimachinery/index';
import { SeededRandom } from '../../testenv/faults/seeded-random.ts';
import type { Post, TestEnv } from '../../testenv/index.ts';
import { connect } from '../connect.ts';
import { live } from '../live/live.ts';
import type { Resource } from '../resource/resource.ts';
import { NoisyProxy, noFaults, type NetworkFaultRates } from './noisy-proxy.ts';

export interface LiveRun {
  env: TestEnv;
  /** Without faults. */
  posts: Resource<Post>;
  seed: number;
  writes: number;
  rates: NetworkFaultRates;
}

export interface LiveResult {
  /** What the live list had in the end, and what the server has: revisions by name. */
  held: Record<string, string>;
  stored: Record<string, string>;
  /** A change that went back in an object's revisions. */
  reversals: string[];
}

/**
 * Random writes with names of this seed, while a live list follows them through a bad network over all replicas; then
 * the faults end.
 */
export async function runLive({ env, posts, seed, writes, rates }: LiveRun): Promise<LiveResult> {
  const random = new SeededRandom(seed);
  const proxy = await NoisyProxy.start(
    env.servers.map(({ url }) => url),
    seed,
    rates,
  );
  const connection = connect({ url: proxy.url, credential: env.token, maxSilenceMs: 400 });
  const run = `run-${seed}-`;
  const list = live(connection.resource(posts.model), { labels: { run: String(seed) } });
  const newest = new Map<string, number>();
  const reversals: string[] = [];
  list.subscribe(() => {
    for (const { metadata } of list.current) {
      const revision = Number(metadata.resourceVersion);
      if (revision < (newest.get(metadata.uid) ?? 0)) reversals.push(`${metadata.name} went back to ${revision}`);
      newest.set(metadata.uid, revision);
    }
  });
  try {
    for (let i = 0; i < writes; i += 1) {
      await writeOne(posts, run, random);
      if (random.chance(0.02)) proxy.cutAll();
    }
    proxy.rates = noFaults;
    proxy.cutAll();
    const stored = await storedRevisions(posts, seed);
    for (let tries = 0; tries < 200 && !isSame(revisionsOf(list.current), stored); tries += 1) await delay(50);
    return { held: revisionsOf(list.current), stored, reversals };
  } finally {
    list.stop();
    await proxy.stop();
  }
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

async function storedRevisions(posts: Resource<Post>, seed: number): Promise<Record<string, string>> {
  return revisionsOf((await posts.list({ labels: { run: String(seed) }, limit: 1000 })).items);
}

function revisionsOf(items: readonly Stored<Post>[]): Record<string, string> {
  return Object.fromEntries(items.map(({ metadata }) => [metadata.name, metadata.resourceVersion]));
}

function isSame(a: Record<string, string>, b: Record<string, string>): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
