/**
 * `make upgrade`: earlier versions of this program, built from their commits, fill a database through their own API;
 * this version takes it over, and all data must exist. Then the previous version runs next to this one on one
 * PostgreSQL, under load. Exits 1 on any violation of docs/deploy.md#upgrading.
 */
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { InterruptedError, runMain, untilInterrupted, type Outcome } from '../harness/run/run-main.ts';
import { buildOfCommit } from '../harness/build/build-of-commit.ts';
import { landings, previousLanding, type Milestone } from './landings.ts';
import { uncoveredStates } from './migration-states.ts';
import { sideBySide } from './beside/side-by-side.ts';
import { stopPostgresBelow } from './left-postgres.ts';
import { nextBuild } from './next-build.ts';
import { ServerProcess } from '../harness/process/server-process.ts';
import { defaultDataParent } from '../harness/process/postgres-process.ts';
import { startBuild } from './start-build.ts';
import { shapeOf } from './shape.ts';
import { parseUpgradeOptions, usage, type UpgradeRunOptions } from './upgrade-options.ts';
import { servicesOf, upgradeInPlace } from './upgrade-in-place.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
type Check = readonly [name: string, run: (folder: string) => Promise<{ problems: readonly string[]; facts: string }>];

async function run(options: UpgradeRunOptions): Promise<Outcome> {
  const home = await mkdtemp(join(defaultDataParent, 'svc-upgrade-'));
  // PostgreSQL's user must be able to enter if we are root.
  await chmod(home, 0o711);
  const failures: string[] = [];
  let passed = 0;
  let wasInterrupted = false;
  try {
    const checks = await checksOf(options, home);
    for (const [index, [name, check]] of checks.entries()) {
      const folder = join(home, String(index));
      await mkdir(folder);
      const began = performance.now();
      const { problems, facts } = await untilInterrupted(check(folder)).catch((error: unknown) => {
        wasInterrupted = error instanceof InterruptedError;
        return {
          problems: [String(error instanceof Error ? error.stack : error)],
          facts: '',
        };
      });
      await ServerProcess.killAll();
      await stopPostgresBelow(folder);
      process.stdout.write(
        `${problems.length === 0 ? 'ok  ' : 'FAIL'}  ${name} (${((performance.now() - began) / 1000).toFixed(1)} s) ${facts}\n${problems.map((problem) => `      ${problem}\n`).join('')}`,
      );
      if (problems.length === 0) passed += 1;
      failures.push(...problems.map((problem) => `upgrade, ${name}: ${problem}`));
      if (wasInterrupted) break;
    }
  } finally {
    await ServerProcess.killAll();
    await stopPostgresBelow(home);
    if (failures.length === 0) await rm(home, { recursive: true, force: true });
    else process.stdout.write(`logs and data are in ${home}\n`);
  }
  process.stdout.write(`${passed} passed, ${failures.length} failed\n`);
  return { passed, failures };
}

async function checksOf({ quick, from, only, build }: UpgradeRunOptions, home: string): Promise<Check[]> {
  const to = resolve(build ?? root);
  const checks: Check[] = [];
  if (only !== 'beside') {
    const chosen =
      from === undefined
        ? // The oldest takes every migration.
          landings.slice(0, quick ? 1 : undefined)
        : from.map((commit): Milestone => ({ commit, word: 'a commit' }));
    if (from === undefined)
      checks.push([
        'every state of the migrations has a version here',
        async () => ({
          problems: [...(await uncoveredStates(landings))].map(([commit, state]) => `${commit}: ${state}`),
          facts: '',
        }),
      ]);
    let shape: string[] | undefined;
    for (const landing of chosen) {
      const ends = quick ? (['SIGKILL'] as const) : (['SIGTERM', 'SIGKILL'] as const);
      for (const end of ends) {
        checks.push([
          `from ${landing.word} (${landing.commit.slice(0, 7)}), which ended by ${end}`,
          async (folder) => {
            shape ??= await freshShape(to, join(home, 'fresh'));
            const { folder: old } = await buildOfCommit(landing.commit);
            return upgradeInPlace({ from: old, to, end, folder, shape });
          },
        ]);
      }
    }
  }
  if (only !== 'in-place') {
    for (const revision of from ?? (quick ? [previousLanding.commit] : [previousLanding.commit, 'HEAD~1'])) {
      checks.push([
        `${revision.slice(0, 7)} beside this version`,
        async (folder) =>
          sideBySide({ old: (await buildOfCommit(revision)).folder, next: to, loadMs: quick ? 3_000 : 15_000, folder }),
      ]);
    }
  }
  if (only !== 'in-place' && from === undefined) {
    checks.push([
      'this version beside a future one',
      async (folder) =>
        sideBySide({ old: to, next: await nextBuild(to, folder), loadMs: quick ? 3_000 : 15_000, folder }),
    ]);
  }
  return checks;
}

async function freshShape(build: string, folder: string): Promise<string[]> {
  await mkdir(folder);
  const program = startBuild({ build, command: 'serve', args: ['--svc.data.dir=data'], folder, name: 'fresh' });
  await servicesOf(program, folder);
  const shape = await shapeOf(join(folder, 'data'));
  await program.stop('SIGTERM');
  return shape;
}

await runMain({ usage, parse: parseUpgradeOptions, run });
