/**
 * Live lists under faults, once for each seed: `make streams`. Pages, with and without a worker, follow random writes
 * through a bad network over two replicas that restart, and sleep now and then: in this process, where time passes faster,
 * or in Chromium. Stops at the first seed whose lists do not equal the server in the end, that missed a change or had one
 * twice, or that did not say in time that it is stale; prints it, and exits 1.
 */
import { deepStrictEqual } from 'node:assert/strict';
import { hasBrowser } from '../../../pkg/access/pages/pagetest/browser.ts';
import { defaultWatchTiming } from '../../../pkg/apiserver/handlers/options/watch-timing.ts';
import { definePosts, postType, startTestEnv, startTestPostgres, type Post } from '../../../pkg/testenv/index.ts';
import { connect, type Resource } from '../../../pkg/webclient/index.ts';
import { print, runMain, type Outcome } from '../harness/run/run-main.ts';
import { BrowserSite } from './browser/browser-site.ts';
import { RealBrowser } from './browser/real-browser.ts';
import { ClientRealm, clockSpeed } from './client-realm.ts';
import { runLive, type BrowserResult, type LiveRun } from './live-run.ts';
import { NoisyBrowser } from './noisy-browser.ts';
import { Replicas } from './replicas.ts';
import { parseStreamsOptions, usage, type StreamsOptions } from './streams-options.ts';

async function runAll(options: StreamsOptions): Promise<number> {
  const { seeds, seed, isBrowser } = options;
  const speed = isBrowser ? 1 : clockSpeed;
  const postgres = await startTestPostgres();
  const watch = { ...defaultWatchTiming, heartbeatMs: 15_000 / speed, bookmarkMs: 10_000 / speed };
  const env = await startTestEnv({ postgres: postgres.connection, handlers: { watch } });
  const end = new AbortController();
  let replicas: Replicas | undefined;
  let site: BrowserSite | undefined;
  try {
    await definePosts(env);
    replicas = await Replicas.start(env);
    site = isBrowser ? await BrowserSite.start(env.token) : undefined;
    // A busy machine makes a run longer.
    const posts = connect({ url: env.url, credential: env.token, timeoutMs: 300_000 }).resource(postType);
    if (!isBrowser) void ClientRealm.keepPace(() => askAll(env.token, replicas!.urls, posts, end.signal), end.signal);
    const seen = await runGroups(options, {
      replicas,
      posts,
      pauseMs: isBrowser ? 500 : 5,
      start: (given) => (site === undefined ? NoisyBrowser.start(given) : RealBrowser.start(site, given)),
    });
    for (const [fault, count] of [...seen].toSorted(([a], [b]) => a.localeCompare(b)))
      print(`  ${fault.padEnd(26)}${count} seeds`);
    print(`  ${'server restarts'.padEnd(26)}${replicas.count}`);
    if (site !== undefined) print(`  ${'longest until stale'.padEnd(26)}${(site.longestStaleMs / 1000).toFixed(1)} s`);
    print(
      `streams: ${seeds} seeds${isBrowser ? ' in Chromium' : ''}, ${seed} to ${seed + seeds - 1}: 0 missed, 0 doubled, all equal in the end, stale within 25 s`,
    );
    return seeds;
  } finally {
    end.abort();
    await site?.stop();
    await replicas?.stop();
    await env.stop();
    await postgres.stop();
  }
}

/** What every page does at its start, of each server: a list, and the first piece of a stream. */
async function askAll(
  token: string,
  urls: readonly string[],
  posts: Resource<Post>,
  signal: AbortSignal,
): Promise<void> {
  const { metadata } = await posts.list({ limit: 1, signal });
  const { group, version, plural: resource } = postType;
  const body = JSON.stringify({
    since: metadata.resourceVersion,
    subscriptions: [{ id: '1', group, version, resource }],
  });
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  // One that restarts refuses at once.
  await Promise.allSettled(
    urls.map(async (url) => {
      const answer = await fetch(`${url}/apis/stream.svc.run/v1alpha1/streams`, {
        method: 'POST',
        headers,
        body,
        signal,
      });
      const reader = answer.body!.getReader();
      await reader.read();
      await reader.cancel();
    }),
  );
}

/** Which faults how many seeds had. Most of a run is waiting: several groups share the servers. */
async function runGroups(
  { seeds, seed, concurrency, groups, writes }: StreamsOptions,
  parts: Omit<LiveRun, 'seeds' | 'writes'>,
): Promise<Map<string, number>> {
  const seen = new Map<string, number>();
  const began = performance.now();
  let begun = 0;
  let passed = 0;
  let hasFailed = false;
  const runNext = async (): Promise<void> => {
    while (begun < seeds && !hasFailed) {
      const group = Array.from({ length: Math.min(concurrency, seeds - begun) }, (_, i) => seed + begun + i);
      begun += group.length;
      try {
        for (const result of await runLive({ ...parts, seeds: group, writes })) {
          check(result, `of --seed=${group[0]} --concurrency=${group.length} --writes=${writes}`);
          for (const fault of result.seen) seen.set(fault, (seen.get(fault) ?? 0) + 1);
        }
      } catch (error) {
        hasFailed = true;
        throw error;
      }
      passed += group.length;
      print(`${passed} seeds, ${(passed / ((performance.now() - began) / 1000)).toFixed(1)} a second`);
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: groups }, runNext));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  return seen;
}

function check({ seed, held, stored, followed, watched, faults, seen }: BrowserResult, of: string): void {
  deepStrictEqual(
    { held, followed, faults },
    { held: stored, followed: watched, faults: [] },
    `seed ${seed} (${seen.join(', ')}) ${of}`,
  );
}

async function run(options: StreamsOptions): Promise<Outcome> {
  const { seed, seeds, isBrowser, concurrency, groups } = options;
  if (isBrowser && !hasBrowser) return { passed: 0, failures: [], skipped: 'there is no Chromium' };
  print(`seed ${seed}: ${seeds} seeds, ${groups} groups of ${concurrency} at once`);
  try {
    return { passed: await runAll(options), failures: [] };
  } catch (error) {
    const failure = String(error instanceof Error ? error.stack : error);
    print(failure);
    return { passed: 0, failures: [`streams: ${failure}`] };
  }
}

await runMain({ usage, parse: parseStreamsOptions, run });
