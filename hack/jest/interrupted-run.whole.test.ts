import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, expect, test } from '@jest/globals';
import { pollUntil } from '../../pkg/testenv/faults/poll-until.ts';

const repository = fileURLToPath(new URL('../../', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'svc-interrupted-'));

afterEach(() => readdirSync(folder).forEach((name) => rmSync(join(folder, name))));
afterAll(() => rmSync(folder, { recursive: true }));

/** Prints its process id, and never ends. */
const endless = (name: string): string => `
  require('node:fs').writeFileSync(${JSON.stringify(join(folder, `${name}.pid`))}, JSON.stringify({ pid: process.pid, connection: JSON.parse(process.env.SVC_TEST_DATABASE) }));
  test('endless', async () => { setInterval(() => {}, 1000); await new Promise(() => {}); });
`;

/** Runs `npm test` on the tests in the folder, as the leader of a process group. */
function start(...more: string[]): ChildProcessWithoutNullStreams {
  const { SVC_TEST_DATABASE_URL: _url, ...environment } = process.env;
  const args = [
    '--config',
    join(repository, 'jest.config.js'),
    '--rootDir',
    repository,
    '--roots',
    folder,
    '--testMatch',
    '**/*.test.cjs',
    '--maxWorkers=2',
    ...more,
  ];
  return spawn(
    process.execPath,
    ['--conditions=source', '--import', './hack/jest/register.mjs', 'node_modules/jest/bin/jest.js', ...args],
    {
      cwd: repository,
      env: environment,
      detached: true,
    },
  );
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test.each<[NodeJS.Signals, 'the run alone' | 'its whole group']>([
  ['SIGINT', 'its whole group'],
  ['SIGTERM', 'the run alone'],
  ['SIGKILL', 'the run alone'],
])('%s to %s leaves no worker and no database behind', async (signal, whom) => {
  const names = ['a', 'b'];
  for (const name of names) writeFileSync(join(folder, `${name}.test.cjs`), endless(name));
  const run = start();
  const ended = new Promise((resolve) => run.once('exit', resolve));
  await pollUntil(
    () =>
      names.every(
        (name) => existsSync(join(folder, `${name}.pid`)) && readFileSync(join(folder, `${name}.pid`)).length > 0,
      ),
    60_000,
    'the tests to begin',
  );
  const processes = names.map(
    (name) =>
      JSON.parse(readFileSync(join(folder, `${name}.pid`), 'utf8')) as {
        pid: number;
        connection: { host: string; port: number };
      },
  );
  const workers = processes.map(({ pid }) => pid);
  const { host, port } = processes[0]!.connection;
  const [postmaster, pgdata] = readFileSync(join(host, `.s.PGSQL.${port}.lock`), 'utf8').split('\n');
  expect(new Set([run.pid, ...workers, Number(postmaster)]).size).toBe(4);
  process.kill(whom === 'the run alone' ? run.pid! : -run.pid!, signal);
  await ended;
  await pollUntil(() => !workers.some(isAlive), 20_000, 'the workers to end');
  await pollUntil(
    () => !isAlive(Number(postmaster)) && !existsSync(join(pgdata!, '..')),
    40_000,
    'the database to end and its folder to go',
  );
});

test('a test that blocks the event loop for ever is ended, and named', async () => {
  writeFileSync(join(folder, 'well.test.cjs'), "test('well', () => {});");
  writeFileSync(join(folder, 'held.test.cjs'), "test('held', async () => { for (;;) await Promise.resolve(); });");
  const run = start('--testEnvironmentOptions', JSON.stringify({ longestHoldSeconds: { processor: 3, all: 300 } }));
  let said = '';
  run.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const code = await new Promise((resolve) => run.once('exit', resolve));
  expect([code, said]).toEqual([
    1,
    expect.stringContaining(`FAIL ${join(folder, 'held.test.cjs')} holds the event loop for `),
  ]);
  expect(said).toContain('1 failed, 1 passed, 2 total');
});
