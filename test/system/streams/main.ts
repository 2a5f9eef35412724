/**
 * Live lists through a bad network, page by page and by worker, once for each seed: `make streams`. Stops at the first
 * seed whose lists do not equal the server in the end, or that missed a change or had one twice; prints it, and exits 1.
 */
import { deepStrictEqual } from 'node:assert/strict';
import { definePosts, postType, startTestEnv, startTestPostgres } from '../../../pkg/testenv/index.ts';
import { connect } from '../../../pkg/webclient/index.ts';
import { runLive } from '../../../pkg/webclient/webclienttest/live-run.ts';
import { print, runMain, type Outcome } from '../harness/run/run-main.ts';
import { parseStreamsOptions, usage, type StreamsOptions } from './streams-options.ts';

async function runAll({ seeds, seed, concurrency, writes }: StreamsOptions): Promise<number> {
  const postgres = await startTestPostgres();
  const env = await startTestEnv({ postgres: postgres.connection, replicas: 2 });
  try {
    await definePosts(env);
    const posts = connect({ url: env.url, credential: env.token }).resource(postType);
    const began = performance.now();
    let passed = 0;
    while (passed < seeds) {
      // They share the writes, and the servers: most of a run is waiting.
      const length = Math.min(concurrency, seeds - passed);
      const batch = Array.from({ length }, (_, i) => seed + passed + i);
      for (const { seed: own, held, stored, followed, watched, reversals } of await runLive({
        env,
        posts,
        seeds: batch,
        writes,
      }))
        deepStrictEqual(
          { held, followed, reversals },
          { held: stored, followed: watched, reversals: [] },
          `seed ${own} of --seed=${batch[0]} --concurrency=${length} --writes=${writes}`,
        );
      passed += length;
      print(`${passed} seeds, ${(passed / ((performance.now() - began) / 1000)).toFixed(1)} a second`);
    }
    print(`streams: ${passed} seeds, ${seed} to ${seed + seeds - 1}: 0 missed, 0 doubled, all equal in the end`);
    return passed;
  } finally {
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
