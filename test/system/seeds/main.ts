/**
 * Runs the sample plugin's controllers with faults, once for each seed: `make seeds`. Stops at the first failed run,
 * prints its seed, and exits 1. See docs/plugins.md.
 */
import { print, runMain, type Outcome } from '../harness/run/run-main.ts';
import { startTestPostgres } from '../../../pkg/testenv/index.ts';
import { SeededBlogs } from './seeded-blogs.ts';
import { parseSeedsOptions, usage, type SeedsOptions } from './seeds-options.ts';

const progressMs = 10_000;

/** The number of passed runs; throws the first failure. */
async function runAll({ runs, seed, concurrency }: SeedsOptions): Promise<number> {
  const postgres = await startTestPostgres();
  const servers: SeededBlogs[] = [];
  try {
    for (let i = 0; i < Math.min(concurrency, runs); i += 1)
      servers.push(await SeededBlogs.start({ postgres: postgres.connection }));
    const began = performance.now();
    const score = { begun: 0, passed: 0, told: began, hasFailed: false };
    const work = async (server: SeededBlogs): Promise<void> => {
      while (score.begun < runs && !score.hasFailed) {
        const own = seed + score.begun;
        score.begun += 1;
        await server.run(own);
        score.passed += 1;
        if (performance.now() - score.told < progressMs) continue;
        score.told = performance.now();
        print(`${score.passed} runs, ${rate(score.passed, began)} a second`);
      }
    };
    const ended = await Promise.allSettled(
      servers.map((server) =>
        work(server).catch((error: unknown) => {
          score.hasFailed = true;
          throw error;
        }),
      ),
    );
    const failed = ended.find((each) => each.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    print(
      `seeds: ${score.passed} runs, ${rate(score.passed, began)} a second, 0 failures, seeds ${seed} to ${seed + runs - 1}`,
    );
    return score.passed;
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
    await postgres.stop();
  }
}

function rate(runs: number, began: number): string {
  return (runs / ((performance.now() - began) / 1000)).toFixed(1);
}

async function run(options: SeedsOptions): Promise<Outcome> {
  print(`seed ${options.seed}: ${options.runs} runs, ${options.concurrency} at once`);
  try {
    return { passed: await runAll(options), failures: [] };
  } catch (error) {
    const failure =
      error instanceof Error && error.name === 'FaultyRunError'
        ? error.message
        : String(error instanceof Error ? error.stack : error);
    print(failure);
    print("FAILED; repeat with make seeds ARGS='--runs=1 --seed=...'");
    return { passed: 0, failures: [`seeds: ${failure}`] };
  }
}

await runMain({ usage, parse: parseSeedsOptions, run });
