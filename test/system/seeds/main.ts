/**
 * Runs the controllers of the sample plugin under faults, once for each seed: `make seeds`. Stops at the first run that
 * does not end as it must, prints its seed, and exits 1. See docs/plugins.md.
 */
import { writeFileSync } from 'node:fs';
import { startTestPostgres } from '../../../pkg/testenv/index.ts';
import { SeededBlogs } from './seeded-blogs.ts';
import { parseSeedsOptions, usage, type SeedsOptions } from './seeds-options.ts';

const progressMs = 10_000;

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** How many runs passed; throws what the first that failed threw. */
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

async function main(args: string[]): Promise<number> {
  let options: SeedsOptions;
  try {
    options = parseSeedsOptions(args);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${usage}`);
    return 2;
  }
  print(`seed ${options.seed}: ${options.runs} runs, ${options.concurrency} at once`);
  const summarize = (summary: { passed: number; failed: number; failures?: string[] }): void => {
    if (options.summaryFile !== undefined) writeFileSync(options.summaryFile, JSON.stringify(summary));
  };
  try {
    summarize({ passed: await runAll(options), failed: 0 });
    return 0;
  } catch (error) {
    const failure =
      error instanceof Error && error.name === 'FaultyRunError'
        ? error.message
        : String(error instanceof Error ? error.stack : error);
    print(failure);
    print("FAILED; again with make seeds ARGS='--runs=1 --seed=...'");
    summarize({ passed: 0, failed: 1, failures: [`seeds: ${failure}`] });
    return 1;
  }
}

process.exitCode = await main(process.argv.slice(2));
