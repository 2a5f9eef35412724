/**
 * Runs the chart on this machine, on PostgreSQL with a standby; upgrades it, kills its processes and fails its database
 * over under load: `make rollout`. See docs/reliability.md#replicas-and-failover.
 */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { verdictLines } from '../harness/history/checker/verdict-lines.ts';
import { describeError } from '../harness/run/describe-error.ts';
import { print, runMain, type Outcome } from '../harness/run/run-main.ts';
import { parseRolloutOptions, usage, type RolloutOptions } from './rollout-options.ts';
import { runRollout } from './run-rollout.ts';
import { RolloutReport } from './scenario.ts';

async function run(options: RolloutOptions): Promise<Outcome> {
  const began = performance.now();
  const report = new RolloutReport(print);
  const folder = await mkdtemp(join(tmpdir(), 'svc-rollout-'));
  // PostgreSQL runs as another user.
  await chmod(folder, 0o755);
  print(`seed ${options.seed}; repeat with make rollout ARGS='--seed=${options.seed}'`);
  try {
    await runRollout(options, { folder, report, onVerdict: (verdict) => verdictLines(verdict).forEach(print) });
  } catch (error) {
    report.check('the run finishes', false, describeError(error));
  }
  const { passed, violations } = report;
  if (options.isKept || violations.length > 0) print(`\nlogs and data are in ${folder}`);
  else await rm(folder, { recursive: true, force: true });
  print(`\n${violations.length === 0 ? 'all checks passed' : `${violations.length} FAILED`}`);
  for (const violation of violations) print(`  ${violation.slice(0, 1000)}`);
  print(
    `rollout: ${options.only.length} scenarios, ${passed} checks held, ${violations.length} did not, in ${Math.round((performance.now() - began) / 1000)} s, seed ${options.seed}`,
  );
  return { passed, failures: violations.map((violation) => `rollout, seed ${options.seed}: ${violation}`) };
}

// Exits the process, because an abandoned scenario may wait for ever.
await runMain({
  usage,
  parse: parseRolloutOptions,
  needsLinux:
    "Pods are given addresses of their own in 127.0.0.0/8, and PostgreSQL and haproxy are Debian's: this needs Linux.",
  run,
});
