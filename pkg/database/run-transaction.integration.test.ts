import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Pool } from 'pg';
import { createTestDatabase, type TestDatabase } from '../testenv/test-database.ts';
import { Database } from './database.ts';
import { silentLog } from './log.ts';
import { runTransaction } from './run-transaction.ts';

let home: TestDatabase;
let database: Database;
let pool: Pool;
beforeAll(async () => {
  home = await createTestDatabase();
  database = await Database.connect({ connection: home.connection, log: silentLog });
  pool = database.newPool({ max: 1, queryTimeoutMs: 2_000 });
  await pool.query(
    `CREATE TABLE notes (id integer PRIMARY KEY, next integer REFERENCES notes DEFERRABLE INITIALLY DEFERRED); INSERT INTO notes VALUES (1)`,
  );
});
afterAll(async () => {
  await database.close();
  await home.drop();
});

const session = async (): Promise<number> =>
  (await pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]!.pid;
const ids = async (): Promise<number[]> =>
  (await pool.query<{ id: number }>('SELECT id FROM notes ORDER BY id')).rows.map(({ id }) => id);

test.each<{ reason: string; work: Parameters<typeof runTransaction>[1] }>([
  {
    reason: 'an error that is not from the database, such as a 404 or 409,',
    work: () => Promise.reject(new Error('no')),
  },
  {
    reason: 'a synchronous error',
    work: () => {
      throw new Error('no');
    },
  },
  { reason: 'a violated constraint', work: (client) => client.query('INSERT INTO notes VALUES (1)') },
  { reason: 'a deferred constraint', work: (client) => client.query('INSERT INTO notes VALUES (3, 4)') },
  {
    reason: 'a caught error of a statement',
    work: (client) => client.query('SELECT nothing').catch(() => undefined),
  },
  { reason: 'an invalid statement', work: (client) => client.query('SELECT nothing') },
  {
    reason: 'a statement time-out',
    work: async (client) => {
      await client.query('SET LOCAL statement_timeout = 10');
      await client.query('SELECT pg_sleep(10)');
    },
  },
])('$reason rolls back the work and keeps the connection', async ({ work }) => {
  const before = await session();
  await expect(
    runTransaction(pool, async (client) => {
      await client.query('INSERT INTO notes VALUES (2)');
      return work(client);
    }),
  ).rejects.toThrow();
  expect(await ids()).toEqual([1]);
  expect(await session()).toBe(before);
});

test.each<{ reason: string; work: Parameters<typeof runTransaction>[1] }>([
  {
    reason: 'a session that was ended',
    work: (client) => client.query('SELECT pg_terminate_backend(pg_backend_pid())'),
  },
  {
    reason: 'a missing answer',
    work: (client) => client.query({ text: 'SELECT pg_sleep(10)', query_timeout: 50 } as { text: string }),
  },
])('$reason ends the connection, and the next transaction has another at once', async ({ work }) => {
  const before = await session();
  await expect(runTransaction(pool, work)).rejects.toThrow();
  expect(await session()).not.toBe(before);
  expect(await ids()).toEqual([1]);
});

test('a successful transaction is committed, with the options of its BEGIN', async () => {
  const isolation = await runTransaction(
    pool,
    async (client) => (await client.query<{ transaction_isolation: string }>('SHOW transaction_isolation')).rows[0],
    { begin: 'BEGIN ISOLATION LEVEL SERIALIZABLE' },
  );
  expect(isolation).toEqual({ transaction_isolation: 'serializable' });
  await runTransaction(pool, (client) => client.query('INSERT INTO notes VALUES (7)'));
  expect(await ids()).toEqual([1, 7]);
});
