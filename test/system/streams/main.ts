/**
 * Live lists under faults, once for each seed: `make streams`. Pages, with and without a worker, follow random writes
 * through a bad network over two replicas that restart, and sleep now and then. Stops at the first seed whose lists do not
 * equal the server in the end, that missed a change or had one twice, or that did not say in time that it is stale; prints
 * it, and exits 1.
 */
import { deepStrictEqual } from 'node:assert/strict';
import { defaultWatchTiming } from '../../../pkg/apiserver/handlers/options/watch-timing.ts';
import { definePosts, postType, startTestEnv, startTestPostgres } from '../../../pkg/testenv/index.ts';
import { connect } from '../../../pkg/webclient/index.ts';
import { print, runMain, type Outcome } from '../harness/run/run-main.ts';
import { clockSpeed } from './client-realm.ts';
import { runLive } from './live-run.ts';
import type { BrowserResult } from './noisy-browser.ts';
import { Replicas } from './replicas.ts';
import { parseStreamsOptions, usage, type StreamsOptions } from './streams-options.ts';

async function runAll({ seeds, seed, concurrency, writes }: StreamsOptions): Promise<number> {
  const postgres = await startTestPostgres();
  const watch = { ...defaultWatchTiming, heartbeatMs: 15_000 / clockSpeed, bookmarkMs: 10_000 / clockSpeed };
  const env = await startTestEnv({ postgres: postgres.connection, handlers: { watch } });
  let replicas: Replicas | undefined;
  try {
    await definePosts(env);
    replicas = await Replicas.start(env);
    const posts = connect({ url: env.url, credential: env.token }).resource(postType);
    const seen = new Map<string, number>();
    const began = performance.now();
    let passed = 0;
    while (passed < seeds) {
      // They share the writes, and the servers: most of a run is waiting.
      const length = Math.min(concurrency, seeds - passed);
      const batch = Array.from({ length }, (_, i) => seed + passed + i);
      const results: BrowserResult[] = await runLive({ replicas, posts, seeds: batch, writes });
      for (const result of results) {
        const { held, stored, followed, watched, faults } = result;
        deepStrictEqual(
          { held, followed, faults },
          { held: stored, followed: watched, faults: [] },
          `seed ${result.seed} (${result.seen.join(', ')}) of --seed=${batch[0]} --concurrency=${length} --writes=${writes}`,
        );
        for (const fault of result.seen) seen.set(fault, (seen.get(fault) ?? 0) + 1);
      }
      passed += length;
      print(`${passed} seeds, ${(passed / ((performance.now() - began) / 1000)).toFixed(1)} a second`);
    }
    for (const [fault, count] of [...seen].toSorted(([a], [b]) => a.localeCompare(b)))
      print(`  ${fault.padEnd(22)}${count} seeds`);
    print(`  ${'server restarts'.padEnd(22)}${replicas.count}`);
    print(
      `streams: ${passed} seeds, ${seed} to ${seed + seeds - 1}: 0 missed, 0 doubled, all equal in the end, stale within 25 s`,
    );
    return passed;
  } finally {
    await replicas?.stop();
    await env.stop();
    await postgres.stop();
  }
}

async function run(options: StreamsOptions): Promise<Outcome> {
  print(`seed ${options.seed}: ${options.seeds} seeds, ${options.concurrency} at once`);
  try {
    return { passed: await runAll(options), failures: [] };
  } catch (error) {
    const failure = String(error instanceof Error ? error.stack : error);
    print(failure);
    return { passed: 0, failures: [`streams: ${failure}`] };
  }
}

await runMain({ usage, parse: parseStreamsOptions, run });
