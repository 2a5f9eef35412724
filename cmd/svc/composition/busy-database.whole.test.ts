import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import pg from 'pg';
import { migrationLock } from '#pkg/database/index';
import { pollUntil } from '../../../pkg/testenv/faults/poll-until.ts';
import { createTestDatabase, type TestDatabase } from '../../../pkg/testenv/test-database.ts';
import { startTestPostgres, type TestPostgres } from '../../../pkg/testenv/test-postgres.ts';
import { databaseUrlOf, killPrograms, Program } from '../start-test-program.ts';

const tryingAgain = 'the database is away or busy; trying the start again';
const waitMs = 60_000;

let postgres: TestPostgres;
let postmaster: number;
let database: TestDatabase;
/** Connected while new connections get no answer. */
let session: pg.Client;
let folder: string;

beforeAll(async () => {
  postgres = await startTestPostgres();
});
beforeEach(async () => {
  database = await createTestDatabase({ server: postgres.connection });
  session = new pg.Client(database.connection);
  await session.connect();
  const { rows } = await session.query<{ pid: string }>(
    "SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1) AS pid",
  );
  postmaster = Number(rows[0]!.pid);
  folder = await mkdtemp(join(tmpdir(), 'svc-busy-'));
});
afterEach(async () => {
  await killPrograms();
  await session?.end();
  await database?.drop();
  await rm(folder, { recursive: true, force: true });
});
afterAll(() => postgres?.stop());

function start(command: string): Program {
  return new Program([
    command,
    '--svc.server.port=0',
    `--svc.data.dir=${folder}`,
    `--svc.database.url=${databaseUrlOf(database)}`,
    '--svc.database.start-timeout=10m',
  ]);
}

async function lock(key: string): Promise<void> {
  await session.query(`SELECT pg_advisory_lock(${key})`);
}

async function unlock(): Promise<void> {
  await session.query('SELECT pg_advisory_unlock_all()');
}

/** The session that waits for the lock. */
async function waiting(): Promise<number> {
  const pids = async (): Promise<number[]> => {
    const { rows } = await session.query<{ pid: number }>(
      "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
    );
    return rows.map(({ pid }) => pid);
  };
  await pollUntil(async () => (await pids()).length > 0, waitMs, 'a session that waits for the lock');
  return (await pids())[0]!;
}

test('a first start waits for a database that does not answer new connections in time', async () => {
  await lock(migrationLock('access'));
  const program = start('serve');
  await waiting();
  process.kill(postmaster, 'SIGSTOP');
  try {
    await unlock();
    expect(await program.line(tryingAgain)).toMatchObject({
      why: expect.stringMatching(/^Schema platform cannot be brought up to date: .*timeout/),
    });
  } finally {
    process.kill(postmaster, 'SIGCONT');
  }
  await program.line('ready');
  program.child.kill('SIGTERM');
  expect(await program.exited).toBe(0);
});

test('a first start waits for the lock of revisions', async () => {
  await lock('815');
  const program = start('serve');
  expect(await program.line(tryingAgain)).toMatchObject({ why: 'canceling statement due to lock timeout' });
  await unlock();
  await program.line('ready');
  program.child.kill('SIGTERM');
  expect(await program.exited).toBe(0);
});

test('an access server waits, too', async () => {
  await lock(migrationLock('access'));
  const program = start('access-server');
  await session.query('SELECT pg_terminate_backend($1)', [await waiting()]);
  expect(await program.line(tryingAgain)).toMatchObject({
    why: expect.stringMatching(/^Schema access cannot be brought up to date: .*connection/i),
  });
  await unlock();
  await program.line('ready');
  program.child.kill('SIGTERM');
  expect(await program.exited).toBe(0);
});
