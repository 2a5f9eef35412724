import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { pollUntil } from '../testenv/faults/poll-until.ts';
import { createTestDatabase, type TestDatabase } from '../testenv/test-database.ts';
import { Database } from './database.ts';
import { type DatabaseLog, silentLog } from './log.ts';
import { WriteMonitor } from './write-monitor.ts';

let home: TestDatabase;
let database: Database;
let monitor: WriteMonitor;
const told: [string, object, string][] = [];
const log: DatabaseLog = {
  info: (details, message) => void told.push(['info', details, message]),
  warn: () => undefined,
  error: (details, message) => void told.push(['error', details, message]),
};

beforeAll(async () => {
  home = await createTestDatabase();
  database = await Database.connect({ connection: home.connection, log: silentLog, poolSize: 2 });
});
afterEach(async () => {
  await monitor.stop();
  told.length = 0;
});
afterAll(async () => {
  await database.close();
  await home.drop();
});

/** Bytes written to temporary files so far. */
async function bytes(): Promise<number> {
  const { rows } = await database.pool.query<{ bytes: string }>(
    'SELECT temp_bytes AS bytes FROM pg_stat_database WHERE datname = current_database()',
  );
  return Number(rows[0]!.bytes);
}

/** Applies to new sessions; ends existing ones. */
async function setReadOnly(isReadOnly: boolean): Promise<void> {
  const operator = await database.newClient();
  await operator.query('SET default_transaction_read_only = off');
  await operator.query(`ALTER DATABASE ${home.name} SET default_transaction_read_only = ${isReadOnly}`);
  await operator.query(
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  );
  await operator.end();
}

test('reports once that a database is read only, and once that it is writable again', async () => {
  monitor = new WriteMonitor({ database, log, intervalMs: 50, retryMs: 50 });
  expect(monitor.refusal).toBeUndefined();
  await setReadOnly(true);
  monitor.start();
  await pollUntil(
    async () => monitor.refusal === 'read_only',
    30_000,
    'the monitor sees that the database is read only',
  );
  await setReadOnly(false);
  await pollUntil(async () => monitor.refusal === undefined, 30_000, 'the monitor sees that writes are taken');
  expect(told).toEqual([
    ['error', { failure: 'read_only' }, 'PostgreSQL takes no writes: the database is read only'],
    ['info', {}, 'PostgreSQL takes writes again'],
  ]);
});

test('a probe writes a temporary file and commits, and leaves no transaction, table or connection behind', async () => {
  const relations = async (): Promise<string> =>
    (await database.pool.query<{ count: string }>('SELECT count(*) FROM pg_class')).rows[0]!.count;
  const before = await relations();
  monitor = new WriteMonitor({ database, log, intervalMs: 50 });
  monitor.start();
  await pollUntil(async () => (await bytes()) > 1_000_000, 30_000, 'a temporary file is written');
  await monitor.stop();
  expect([monitor.refusal, told]).toEqual([undefined, []]);
  expect(await relations()).toBe(before);
  expect(database.poolStates()).toEqual([expect.objectContaining({ used: 0, pending: 0 })]);
});

test('if `temp_file_limit` forbids the temporary file, the probe only commits', async () => {
  await database.pool.query(`ALTER DATABASE ${home.name} SET temp_file_limit = '512kB'`);
  const answers: (string | undefined)[] = [];
  const observer = {
    statement: (_operation: string, _summary: string, _ms: number, failure: string | undefined) =>
      void answers.push(failure),
    waited: () => {},
    timedOut: () => {},
    failed: () => {},
  };
  const limited = await Database.connect({ connection: home.connection, log: silentLog, observer });
  answers.length = 0;
  monitor = new WriteMonitor({ database: limited, log, intervalMs: 3_600_000 });
  monitor.start();
  await pollUntil(async () => answers.length >= 3, 30_000, 'the trial is made');
  await monitor.stop();
  expect([answers, monitor.refusal, told]).toEqual([[undefined, '53400', undefined], undefined, []]);
  await limited.close();
  await database.pool.query(`ALTER DATABASE ${home.name} RESET temp_file_limit`);
});

test('a refused statement causes a probe at once', async () => {
  monitor = new WriteMonitor({ database, log, intervalMs: 3_600_000 });
  monitor.start();
  const before = await bytes();
  await pollUntil(async () => (await bytes()) > before, 30_000, 'the first trial is made');
  const first = await bytes();
  monitor.suspect('disk_full');
  // After a refusal a trial needs room for 16 MiB.
  await pollUntil(async () => (await bytes()) - first > 16_000_000, 30_000, 'the second trial is made');
  expect(monitor.refusal).toBeUndefined();
});

test('stops at once while the database accepts no connections', async () => {
  const busy = await Promise.all([database.pool.connect(), database.pool.connect()]);
  monitor = new WriteMonitor({ database, log });
  monitor.start();
  await pollUntil(async () => database.poolStates()[0]!.pending > 0, 30_000, 'the monitor asks for a connection');
  await monitor.stop();
  // The connection that it requested is still pending, and is released when it arrives.
  expect(database.poolStates()[0]!.pending).toBe(1);
  for (const client of busy) client.release();
  await pollUntil(async () => database.poolStates()[0]!.used === 0, 30_000, 'connections are given back');
});
