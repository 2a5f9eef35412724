/**
 * Runs what proves and measures the system, and prints a table and `N passed, N failed`; exits 1 on any failure.
 *
 *   node hack/run-suites.mjs             each suite whole, one after another: `make everything`, for hours
 *   node hack/run-suites.mjs --sample    of each suite as much as CI waits for, tests beside the others: `.ci/run`
 *   --only=a,b                           only these suites
 */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * In the order they run. A suite gets `arguments`, and `sample` or `whole` besides; it writes its counts where
 * `--summary` says, or with `report: 'jest'` as jest does. With `report: 'exit status'` it passes or fails as one. A
 * suite that `isAlone` measures time: nothing runs beside it.
 */
const suites = [
  { name: 'verify', run: npmRun('verify') },
  { name: 'test', run: npmTest(), report: 'jest' },
  {
    name: 'whole',
    run: npmTest(),
    report: 'jest',
    env: { SVC_TEST_WHOLE: '1' },
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
  // With a seed CI tries the same each time: what chance finds on a long run of its own is not for the next commit to
  // stumble over.
  {
    name: 'faults',
    run: built('faults'),
    sample: [
      '--seed=1',
      '--seconds=15',
      '--faults=kill-server,terminate-listeners,fast-restart,connections-cut,answers-lost,disk-full,history-compacted,watchers-cut',
    ],
  },
  { name: 'rollout', run: built('rollout'), sample: ['--quick', '--seed=1', '--only=upgrade'], needsHistory: true },
  { name: 'upgrade', run: built('upgrade'), sample: ['--quick', '--only=in-place'], needsHistory: true },
  { name: 'image', run: source('image', 'check.ts'), report: 'exit status', sample: ['--once'] },
  { name: 'backup', run: source('backup'), report: 'exit status', sample: ['--objects=20000'] },
  { name: 'fuzz', run: built('fuzz'), sample: ['--seed=ci', '--seconds=8'], whole: ['--seconds=600'] },
  // A machine of CI's is not ours alone: whether the user is refused counts, how long it takes is shown.
  { name: 'attack', run: built('attack'), sample: ['--sample', '--seconds=15'] },
  { name: 'matrix', run: built('matrix'), sample: ['--cells=2000', '--seed=ci'] },
  { name: 'tenants', run: built('tenants'), sample: ['--seconds=10', '--quiet=5', '--untimed'] },
  { name: 'holds', run: built('holds'), sample: ['--every=16', '--models=20'], isAlone: true },
  { name: 'seeds', run: source('seeds'), sample: ['--runs=30', '--seed=1'] },
  { name: 'churn', run: built('churn'), report: 'exit status', sample: ['--rounds=10'] },
  { name: 'timing', run: built('timing'), report: 'exit status', isWholeOnly: true },
  {
    name: 'bench',
    run: built('bench', 'bench'),
    report: 'exit status',
    sample: ['--quick', '--only=get,create,watch'],
  },
  { name: 'capacity', run: built('capacity', 'bench/capacity'), report: 'exit status', isWholeOnly: true },
];

/** One of each kind of whole program, and what has no other suite. */
function sampleOfWholeTests() {
  return [
    'cmd/svc/(svc|.*/(full-disk|plugin-reload))',
    'hack/start',
    'test/system/(backup/point-in-time|chart/chart|observability/alerts)',
    'pkg/access/(pages/pages\\.browser|access-keys/signature-clients)',
    'pkg/apiserver/keys/key-worker',
    'pkg/storage/.*/synchronous-standby',
    'pkg/testenv/contract/(clients-informer|watch-replicas)',
  ];
}

function npmRun(script) {
  return ['npm', 'run', '--silent', script, '--'];
}

function npmTest() {
  return ['npm', 'test', '--silent', '--', '--ci'];
}

/** Against what `npm run verify` or `make` has built. */
function built(suite, folder = `test/system/${suite}`) {
  return [process.execPath, '--import', 'tsx', `${folder}/main.ts`];
}

/** Against the sources. */
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
/** The suites that run, each in a process group of its own: what one leaves behind is in its group. */
const running = new Set();
process.on('exit', () => {
  for (const child of running) killGroup(child);
  rmSync(reports, { recursive: true, force: true });
});
for (const [signal, status] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
])
  process.on(signal, () => process.exit(status));

const isShallow =
  spawnSync('git', ['rev-parse', '--is-shallow-repository'], { cwd: root, encoding: 'utf8' }).stdout.trim() === 'true';
const results = new Map();
const chosen = suites.filter(({ name, isWholeOnly }) => only?.includes(name) ?? !(values.sample && isWholeOnly));
// What a suite needs of dist is built by `verify`; what measures time runs when nothing else does.
const [first, rest] = [chosen.filter(({ name }) => name === 'verify'), chosen.filter(({ name }) => name !== 'verify')];
await runRow(first);
if (values.sample) {
  const [jest, others] = [rest.filter(isJest), rest.filter((suite) => !isJest(suite) && !suite.isAlone)];
  await Promise.all([runRow(jest), runRow(others)]);
  await runRow(rest.filter(({ isAlone }) => isAlone));
} else await runRow(rest);

const table = chosen.map(({ name }) => `${name.padEnd(10)}${results.get(name)}`);
process.stdout.write(`\n${table.join('\n')}\n\n`);
const files = chosen
  .map(({ name }) => fileOf(name))
  .filter((_, index) => !results.get(chosen[index].name).startsWith('not run'));
process.exitCode =
  spawnSync(process.execPath, ['hack/print-summary.mjs', ...files], { cwd: root, stdio: 'inherit' }).status ?? 1;

function isJest({ report }) {
  return report === 'jest';
}

function fileOf(name) {
  return join(reports, `${name}.json`);
}

async function runRow(row) {
  for (const suite of row) {
    if (suite.needsHistory && isShallow) {
      results.set(suite.name, 'not run: this clone is shallow, and it builds earlier commits');
      continue;
    }
    const began = Date.now();
    const { status, output } = await runSuite(suite);
    if (suite.report === 'exit status')
      writeFileSync(
        fileOf(suite.name),
        JSON.stringify(status === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 }),
      );
    const seconds = Math.round((Date.now() - began) / 1000);
    const result = `${status === 0 ? 'passed' : 'FAILED'}  ${seconds} s`;
    results.set(suite.name, result);
    process.stdout.write(`${output}### ${suite.name} ${result}\n`);
  }
}

/** Two suites print at the same time in a sample: what one prints comes in one piece then, when it has ended. */
function runSuite({ name, run, report, env, arguments: always = [], sample = [], whole = [] }) {
  const file = fileOf(name);
  const summary =
    report === 'jest' ? ['--json', `--outputFile=${file}`] : report === 'exit status' ? [] : [`--summary=${file}`];
  const [program, ...args] = [...run, ...always, ...(values.sample ? sample : whole), ...summary];
  const command = `\n### ${[program, ...args].join(' ')}\n`;
  if (values.sample) process.stdout.write(`### ${name} begins\n`);
  else process.stdout.write(command);
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: values.sample ? ['ignore', 'pipe', 'pipe'] : ['ignore', 'inherit', 'inherit'],
      detached: true,
    });
    running.add(child);
    let output = values.sample ? command : '';
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text) => (output += text));
    child.once('error', reject);
    // What it leaves behind would keep its pipes open.
    child.once('exit', () => killGroup(child));
    child.once('close', (code) => {
      running.delete(child);
      resolve({ status: code ?? 1, output });
    });
  });
}

function killGroup(child) {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  } catch {
    // Nothing is left of it.
  }
}
