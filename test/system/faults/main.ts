/**
 * Breaks the dependencies of servers while clients write, read and watch, and checks the clients' observations against
 * the log: `make faults`. See docs/reliability.md.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkHistory } from '../harness/history/checker/check-history.ts';
import { parseFaultsOptions, usage, type FaultsOptions } from './faults-options.ts';
import { print, runMain, type Outcome } from '../harness/run/run-main.ts';
import { heading, outcomeLine, verdictText } from './report.ts';
import { runRound, untried, type RoundResult } from './round.ts';
import { sampleModels } from '../harness/workload/sample-models.ts';

interface Score {
  kinds: Set<string>;
  operations: number;
  events: number;
  violations: number;
  passed: number;
  failed: number;
  failures: string[];
}

/** The options that make the same round again. */
function repeated({ hasStandby, workers }: FaultsOptions, seed: number, pairs: boolean): string {
  return [
    `--seed=${seed}`,
    ...(pairs ? ['--pairs'] : []),
    ...(hasStandby ? ['--standby-reads'] : []),
    ...(workers > 1 ? [`--workers=${workers}`] : []),
  ].join(' ');
}

/** One round with its verdict. */
async function tryRound(
  options: FaultsOptions,
  { seed, pairs }: { seed: number; pairs: boolean },
  score: Score,
): Promise<void> {
  print(
    `seed ${seed}: two servers, one PostgreSQL${options.hasStandby ? ' with a standby' : ''}, ${sampleModels.length} models; repeat with make faults ARGS='${repeated(options, seed, pairs)}'\n\n${heading}`,
  );
  const result = await runRound({ ...options, seed, pairs, onFault: (outcome) => print(outcomeLine(outcome)) });
  const verdict = checkHistory(result.history);
  const missing = untried(result.outcomes, options.kinds);
  const skipped = new Set(
    result.outcomes.filter((outcome) => outcome.skipped !== undefined).flatMap(({ names }) => names.split(' + ')),
  );
  for (const { name } of missing) if (!skipped.has(name)) result.problems.push(`${name} was not tried`);
  for (const verb of ['create', 'update', 'patch', 'delete', 'deleteCollection', 'get', 'list']) {
    if ((verdict.statistics[`operations ${verb} ok`] ?? 0) === 0)
      result.problems.push(`no ${verb} succeeded: the run proves too little`);
  }
  print(verdictText(verdict, result));
  const violations = Object.values(verdict.counts).reduce((sum, count) => sum + count, 0);
  for (const { name } of options.kinds) if (!missing.some((fault) => fault.name === name)) score.kinds.add(name);
  score.operations += result.operations;
  score.events += result.events;
  score.violations += violations;
  score.passed += result.outcomes.filter(
    ({ failures, skipped: why }) => failures.length === 0 && why === undefined,
  ).length;
  score.failed += violations + result.problems.length;
  score.failures.push(
    ...result.problems,
    ...Object.entries(verdict.counts)
      .filter(([, count]) => count > 0)
      .map(
        ([rule, count]) =>
          `${rule}, ${count} times: ${verdict.violations.find((each) => each.rule === rule)?.text ?? ''}`,
      ),
  );
  if (options.isKept || violations + result.problems.length > 0) keep(result, verdict);
  else rmSync(result.folder, { recursive: true, force: true });
}

/** Keeps everything needed for the analysis. */
function keep({ folder, history }: RoundResult, verdict: object): void {
  writeFileSync(join(folder, 'history.json'), JSON.stringify(history));
  writeFileSync(join(folder, 'verdict.json'), JSON.stringify(verdict, undefined, 1));
  print(`\nlogs, history and verdict are in ${folder}`);
}

async function run(options: FaultsOptions): Promise<Outcome | undefined> {
  if (options.isList) {
    for (const { name, intent } of options.kinds) print(`${name.padEnd(24)} ${intent}`);
    return undefined;
  }
  const score: Score = {
    kinds: new Set(),
    operations: 0,
    events: 0,
    violations: 0,
    passed: 0,
    failed: 0,
    failures: [],
  };
  const deadline = performance.now() + options.hours * 3_600_000;
  let round = 0;
  do {
    await tryRound(options, { seed: options.seed + round, pairs: options.pairs || round > 0 }, score);
    round += 1;
  } while (performance.now() < deadline);
  print(`\n${score.failed === 0 ? 'all checks passed' : `${score.failed} FAILED`}`);
  print(
    `faults: ${score.kinds.size} kinds, ${score.operations} operations, ${score.events} events, ${score.violations} violations, seed ${options.seed}`,
  );
  const failures = score.failures.map((failure) => `faults, seed ${options.seed}: ${failure}`);
  return { passed: score.passed, failed: score.failed, failures };
}

await runMain({
  usage,
  parse: parseFaultsOptions,
  needsLinux: 'The faults are made with signals, /proc and tmpfs, and need Linux.',
  run,
});
