import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Pool } from 'pg';
import { Database, silentLog } from '#pkg/database/index';
import { createTestDatabase, type TestDatabase } from '../../../testenv/test-database.ts';
import { StorageError } from '../../storage-error.ts';
import { queryWithTimeout } from './query-with-timeout.ts';

let testDatabase: TestDatabase;
let database: Database;
let pool: Pool;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await Database.connect({ connection: testDatabase.connection, log: silentLog });
  pool = database.newPool({ max: 1, queryTimeoutMs: 20_000 });
});

afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

async function session(on = pool): Promise<number> {
  return (await on.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]!.pid;
}

test.each([
  [
    'an answer',
    () => queryWithTimeout(pool, async (runner) => (await runner.query<{ n: number }>('SELECT 1 AS n')).rows[0]),
    { n: 1 },
  ],
  ['no answer in time', () => queryWithTimeout(pool, (runner) => runner.query('SELECT pg_sleep(10)')), undefined],
])('%s is thrown, and the connection is kept', async (_, ask, expected) => {
  const before = await session();
  expect(await ask()).toEqual(expected);
  expect(await session()).toBe(before);
});

test.each([
  [
    'an error of the database',
    () => queryWithTimeout(pool, (runner) => runner.query('SELECT 1 / 0')),
    { code: '22012' },
  ],
  [
    'an error of its reader',
    () => queryWithTimeout(pool, () => Promise.reject(new StorageError('Compacted', 'too old'))),
    { code: 'Compacted' },
  ],
])('%s does not end the connection', async (_, ask, expected) => {
  const before = await session();
  await expect(ask()).rejects.toMatchObject(expected);
  expect(await session()).toBe(before);
});

test('an unresponsive connection is not reused', async () => {
  const brief = database.newPool({ max: 1, queryTimeoutMs: 500 });
  const before = await session(brief);
  const silent = queryWithTimeout(brief, async (runner) => {
    await runner.query('SET LOCAL statement_timeout = 0');
    return runner.query('SELECT pg_sleep(10)');
  });
  await expect(silent).rejects.toThrow('Query read timeout');
  expect(await session(brief)).not.toBe(before);
});
