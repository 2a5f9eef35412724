/**
 * `make matrix`: requests of all users, with every credential, in every organization, on every route of both services;
 * each must be allowed or refused as the contract in `model/` says. Exits 1 on any difference. See docs/security.md.
 */
import { print, runMain, untilInterrupted, type Outcome } from '../harness/run/run-main.ts';
import { startTestPostgres } from '../../../pkg/testenv/test-postgres.ts';
import { MatrixRun } from './matrix-run.ts';
import { parseMatrixOptions, usage, type MatrixOptions } from './matrix-options.ts';
import type { MatrixReport } from './report.ts';

/** Cells between two progress lines. */
const batch = 10_000;

async function runSuite(options: MatrixOptions): Promise<Outcome> {
  print(`seed ${options.seed}`);
  const report = await runOn(options);
  print(report.toString());
  const { passed, failed, failures } = report;
  return { passed, failed, failures: failures.map((failure) => `matrix, seed ${options.seed}: ${failure}`) };
}

/** On a separate PostgreSQL. */
async function runOn({ seed, concurrency, cells, only }: MatrixOptions): Promise<MatrixReport> {
  const postgres = await startTestPostgres();
  try {
    const { host, user } = postgres.connection;
    const databaseUrl = `postgres://${user}@${encodeURIComponent(String(host))}/postgres`;
    const run = await MatrixRun.start({
      seed,
      concurrency,
      databaseUrl,
      program: 'built',
      hasPlugin: true,
      chance: 10,
      privateTokens: 12,
    });
    try {
      await untilInterrupted(only === undefined ? sendAll(run, cells) : run.send(only, only + 1));
      return run.report;
    } finally {
      await run.stop();
    }
  } finally {
    await postgres.stop();
  }
}

async function sendAll(run: MatrixRun, cells: number): Promise<void> {
  const began = Date.now();
  for (let from = 0; from < cells; from += batch) {
    await run.send(from, Math.min(cells, from + batch));
    const seconds = (Date.now() - began) / 1000;
    print(
      `${Math.min(cells, from + batch)} cells, ${Math.round(Math.min(cells, from + batch) / seconds)} a second, ${run.report.failed} failed`,
    );
  }
  for (const name of run.untried)
    run.report.problem('a credential, or a result of a service, that was in no cell', name);
}

await runMain({ usage, parse: parseMatrixOptions, run: runSuite });
