/**
 * Changes the primary of PostgreSQL under Patroni, breaks its parts, and changes the region, while clients write to svc
 * and watch it: `make patroni`. See docs/availability.md.
 */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CheckReport } from '../harness/run/check-report.ts';
import { describeError } from '../harness/run/describe-error.ts';
import { print, runMain, type Outcome } from '../harness/run/run-main.ts';
import { asynchronous } from './primary/asynchronous.ts';
import { installCommand, missingPackages } from './cluster/missing-programs.ts';
import { parsePatroniOptions, usage, type CaseName, type PatroniOptions } from './patroni-options.ts';
import { faultsOfParts } from './faults/faults.ts';
import { regions } from './regions/regions.ts';
import { synchronous } from './primary/synchronous.ts';
import type { CaseOptions } from './cluster/on-servers.ts';

const cases: Record<CaseName, (options: CaseOptions) => Promise<void>> = {
  synchronous,
  asynchronous,
  faults: faultsOfParts,
  regions,
};

async function run({ only, seed, count, isKept }: PatroniOptions): Promise<Outcome> {
  const missing = await missingPackages();
  if (missing.length > 0) {
    const skipped = `not installed: ${missing.join(', ')}; ${installCommand}`;
    process.stderr.write(`WARNING: make patroni is SKIPPED. ${skipped}\n`);
    return { passed: 0, failures: [], skipped };
  }
  const began = performance.now();
  const report = new CheckReport(print);
  const folder = await mkdtemp(join(tmpdir(), 'svc-patroni-'));
  // PostgreSQL runs as another user.
  await chmod(folder, 0o755);
  print(`seed ${seed}; repeat with make patroni ARGS='--seed=${seed} --count=${count}'`);
  for (const name of only) {
    print(`\n${name}`);
    try {
      await cases[name]({ folder, seed, count, report });
    } catch (error) {
      report.check(`the case ${name} finishes`, false, describeError(error));
    }
  }
  const { passed, violations } = report;
  if (isKept || violations.length > 0) print(`\nlogs and data are in ${folder}`);
  else await rm(folder, { recursive: true, force: true });
  print(`\n${violations.length === 0 ? 'all checks passed' : `${violations.length} FAILED`}`);
  for (const violation of violations) print(`  ${violation.slice(0, 1000)}`);
  print(
    `patroni: ${only.join(', ')}, ${passed} checks held, ${violations.length} did not, in ${Math.round((performance.now() - began) / 1000)} s, seed ${seed}`,
  );
  return { passed, failures: violations.map((violation) => `patroni, seed ${seed}: ${violation}`) };
}

// Exits the process, because an abandoned case may wait for ever.
await runMain({
  usage,
  parse: parsePatroniOptions,
  needsLinux: "Each machine is an address in 127.0.0.0/8, and the programs are Debian's: this needs Linux.",
  run,
});
