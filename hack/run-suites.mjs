/**
 * Runs the system tests and benchmarks, and prints a table and `N passed, N failed`; exits 1 on any failure.
 *
 *   node hack/run-suites.mjs             the complete suites, one by one: `make everything`, for hours
 *   node hack/run-suites.mjs --sample    a short sample of each suite, for CI: `.ci/run`; four at a time
 *   --only=a,b                           only these suites
 */
import { spawn, spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));
/** All values of property tests, and others each time. */
const allValues = { SVC_TEST_VALUES: 'all', SVC_TEST_SEED: String(Date.now() % 2 ** 31) };

/**
 * In this order. A suite gets `arguments`, and also `sample`, or `whole` and `wholeEnv`; it writes its counts to the
 * file of `--summary`, or with `report: 'jest'` as jest does. With `report: 'exit status'` it passes or fails as a whole.
 * `usesBuild`: it starts when `build` has ended. `runsAlone`: it measures times, or keeps the processors busy by itself.
 * Of the others a sample starts the long ones first, so that four at a time end together.
 */
const suites = [
  { name: 'build', run: npmRun('build'), report: 'exit status' },
  { name: 'image', run: source('image', 'check.ts'), report: 'exit status', sample: ['--once'] },
  { name: 'seeds', run: source('seeds'), sample: ['--runs=6', '--seed=1'] },
  { name: 'streams', run: source('streams'), sample: ['--seeds=8', '--seed=1050'], whole: ['--seeds=2000'] },
  { name: 'chromium', run: source('streams'), arguments: ['--browser=50'], isWholeOnly: true },
  { name: 'verify', run: npmRun('verify'), arguments: ['--built'], whole: ['--whole'], usesBuild: true },
  { name: 'upgrade', ...built('upgrade'), sample: ['--quick', '--only=in-place'], needsHistory: true },
  {
    name: 'tenants',
    ...built('tenants'),
    sample: ['--seconds=4', '--quiet=2', '--flood=2', '--floods=small reads;creates', '--untimed'],
  },
  { name: 'rollout', ...built('rollout'), sample: ['--quick', '--seed=1', '--only=upgrade'], needsHistory: true },
  { name: 'fuzz', ...built('fuzz'), sample: ['--seed=ci', '--requests=2000'], whole: ['--seconds=600'] },
  {
    name: 'whole',
    run: npmTest(),
    usesBuild: true,
    report: 'jest',
    env: { SVC_TEST_WHOLE: '1' },
    wholeEnv: allValues,
    sample: [`(${sampleOfWholeTests().join('|')})\\.whole\\.test`],
    whole: ['\\.whole\\.test'],
  },
  {
    name: 'plans',
    run: npmTest(),
    report: 'jest',
    env: { SVC_TEST_WHOLE: '1', SVC_TEST_PLAN_OBJECTS: '100000' },
    arguments: ['pkg/storage/postgres/list/list-plans'],
    isWholeOnly: true,
  },
  // Without a peer the operator in Go is missing, and the suite says so.
  { name: 'clients', ...built('clients'), arguments: peerArguments(), sample: ['--kills=2', '--seed=ci'] },
  // A fixed seed makes CI reproducible: failures of random values belong to long separate runs, not to the next commit.
  {
    name: 'faults',
    ...built('faults'),
    sample: [
      '--seed=1',
      '--seconds=8',
      '--faults=kill-server,fast-restart,connections-cut,answers-lost,disk-full,watchers-cut',
    ],
  },
  { name: 'faults-standby', ...built('faults'), arguments: ['--standby-reads'], isWholeOnly: true },
  { name: 'faults-workers', ...built('faults'), arguments: ['--workers=2'], isWholeOnly: true },
  // Few rounds in a browser would say nothing: there the sample is the flow of plugin-frames.browser.whole.test.ts.
  { name: 'churn', ...built('churn'), sample: ['--only=plugins,hosts', '--rounds=5', '--changes=1', '--seed=3'] },
  { name: 'incidents', ...built('incidents'), sample: ['--sample'] },
  { name: 'matrix', ...built('matrix'), sample: ['--cells=1000', '--seed=ci'] },
  { name: 'backup', run: source('backup'), report: 'exit status', sample: ['--objects=5000'] },
  { name: 'test', run: npmTest(), report: 'jest', wholeEnv: allValues, runsAlone: true },
  // CI machines are shared: refusing the user is a failure, the durations are only printed.
  { name: 'attack', ...built('attack'), sample: ['--sample', '--seconds=20'], runsAlone: true },
  { name: 'holds', ...built('holds'), sample: ['--every=64', '--models=0'], runsAlone: true },
  // It needs Debian's patroni and etcd-server, which .ci/run does not install, and measures times.
  { name: 'patroni', ...built('patroni'), isWholeOnly: true, runsAlone: true },
  { name: 'timing', ...built('timing'), report: 'exit status', isWholeOnly: true },
  {
    name: 'bench',
    ...built('bench', 'bench'),
    report: 'exit status',
    sample: ['--quick', '--only=get,create'],
    runsAlone: true,
  },
  // Whoever has a Kubernetes API server to compare with names its folder; without one the suite says that it is skipped.
  {
    name: 'conformance',
    run: source('conformance'),
    arguments: peerArguments('--http'),
    isWholeOnly: true,
  },
  { name: 'capacity', ...built('capacity', 'bench/capacity'), report: 'exit status', isWholeOnly: true },
];

/** Those that no other suite covers. */
function sampleOfWholeTests() {
  return [
    'hack/(start|builds/bundle-client)',
    'cmd/svc/workers/workers',
    'test/system/(chart/chart|observability/alerts|(console/(?!access|forms|list|objects|people|plugin-authors|system-pages|user-center|views)|react/|sdk/).*)',
    'pkg/access/pages/pages\\.browser',
    'pkg/storage/.*/synchronous-standby',
  ];
}

/** The folder of a Kubernetes API server and its tools, if the environment names one. */
function peerArguments(...others) {
  const peer = process.env['SVC_TEST_PEER'];
  return peer === undefined ? [] : [`--peer=${peer}`, ...others];
}

function npmRun(script) {
  return ['npm', 'run', '--silent', script, '--'];
}

function npmTest() {
  return ['npm', 'test', '--silent', '--', '--ci'];
}

/** Runs the suite against the build, in a run without `build` that of `make`. */
function built(suite, folder = `test/system/${suite}`) {
  return { run: [process.execPath, '--import', 'tsx', `${folder}/main.ts`], usesBuild: true };
}

/** Runs the suite against the sources. */
function source(suite, file = 'main.ts') {
  return [process.execPath, '--conditions=source', '--import', 'tsx', `test/system/${suite}/${file}`];
}

const { values } = parseArgs({ options: { sample: { type: 'boolean' }, only: { type: 'string' } } });
const only = values.only?.split(',');
const unknown = only?.filter((name) => !suites.some((suite) => suite.name === name)) ?? [];
if (unknown.length > 0) {
  process.stderr.write(
    `There is no suite ${unknown.join(', ')}; there are ${suites.map(({ name }) => name).join(', ')}.\n`,
  );
  process.exit(2);
}

const reports = mkdtempSync(join(tmpdir(), 'svc-suites-'));
/** The running suites, each in its own process group, so that its background processes can be killed. */
const running = new Set();
process.on('exit', () => {
  for (const suite of running) endSuite(suite);
  rmSync(reports, { recursive: true, force: true });
});
for (const [signal, status] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
])
  process.on(signal, () => process.exit(status));

const isShallow =
  spawnSync('git', ['rev-parse', '--is-shallow-repository'], { cwd: root, encoding: 'utf8' }).stdout.trim() === 'true';
const chosen = suites.filter(({ name, isWholeOnly }) => only?.includes(name) ?? !(values.sample && isWholeOnly));
const table = [];
const files = [];
let endBuild;
const buildEnded = chosen.some(({ name }) => name === 'build')
  ? new Promise((resolve) => (endBuild = resolve))
  : undefined;
for (const group of groupSuites(chosen)) {
  const waiting = group.values();
  await Promise.all(Array.from({ length: 4 }, () => runSuites(waiting)));
}
process.stdout.write(`\n${table.map(([name, ...rest]) => `${name.padEnd(15)}${rest.join('  ')}`).join('\n')}\n\n`);
process.exitCode =
  spawnSync(process.execPath, ['hack/print-summary.mjs', ...files], { cwd: root, stdio: 'inherit' }).status ?? 1;

/** Groups of suites that may run at the same time, one group after another. */
function groupSuites(ordered) {
  const groups = [];
  for (const suite of ordered) {
    const last = groups.at(-1);
    const isBeside = values.sample && !suite.runsAlone && last !== undefined && !last[0].runsAlone;
    if (isBeside) last.push(suite);
    else groups.push([suite]);
  }
  return groups;
}

/** Takes the next suite that is not taken, until none is left. */
async function runSuites(untaken) {
  for (const suite of untaken) {
    if (suite.needsHistory && isShallow) {
      table.push([suite.name, 'not run: this clone is shallow, and it builds earlier commits']);
      continue;
    }
    if (suite.usesBuild) await buildEnded;
    const began = Date.now();
    const file = join(reports, `${suite.name}.json`);
    files.push(file);
    const status = await runSuite(suite, file);
    if (suite.name === 'build') endBuild();
    if (suite.report === 'exit status')
      writeFileSync(file, JSON.stringify(status === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 }));
    const skipped = skippedBecause(file);
    const result = status !== 0 ? 'FAILED' : skipped === undefined ? 'passed' : `not run: ${skipped}`;
    const row = [suite.name, result, `${Math.round((Date.now() - began) / 1000)} s`];
    table.push(row);
    process.stdout.write(`### ${row.join(', ')}\n`);
  }
}

/** Why the suite tried nothing, by its summary; undefined if it ran. */
function skippedBecause(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).skipped;
  } catch {
    return undefined;
  }
}

function runSuite({ name, run, report, env, wholeEnv, arguments: always = [], sample = [], whole = [] }, file) {
  const summary =
    report === 'jest' ? ['--json', `--outputFile=${file}`] : report === 'exit status' ? [] : [`--summary=${file}`];
  const [program, ...args] = [...run, ...always, ...(values.sample ? sample : whole), ...summary];
  const heading = `\n### ${[program, ...args].join(' ')}\n`;
  // What a sample prints is kept until it ends, because another one prints meanwhile.
  const output = values.sample ? join(reports, `${name}.txt`) : undefined;
  if (output === undefined) process.stdout.write(heading);
  else writeFileSync(output, heading);
  const sink = output === undefined ? 'inherit' : openSync(output, 'a');
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: root,
      env: { ...process.env, ...env, ...(values.sample ? {} : wholeEnv) },
      stdio: ['ignore', sink, sink],
      detached: true,
    });
    if (output !== undefined) closeSync(sink);
    const suite = { child, output };
    running.add(suite);
    child.once('error', reject);
    child.once('exit', (code) => {
      endSuite(suite);
      resolve(code ?? 1);
    });
  });
}

/** Kills what is left of it, and prints what it printed. */
function endSuite(suite) {
  const { child, output } = suite;
  running.delete(suite);
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  } catch {
    // The group has already ended.
  }
  if (output !== undefined) process.stdout.write(readFileSync(output));
}
