import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql, type Kysely } from 'kysely';
import type { Pool } from 'pg';
import { createTestDatabase, type TestDatabase } from '../testenv/test-database.ts';
import { Database } from './database.ts';
import { silentLog } from './log.ts';
import { newKysely } from './new-kysely.ts';

const answerTimeoutMs = 1000;
let home: TestDatabase;
let database: Database;
let pool: Pool;
let kysely: Kysely<unknown>;
beforeAll(async () => {
  home = await createTestDatabase();
  database = await Database.connect({ connection: home.connection, log: silentLog });
  pool = database.newPool({ max: 1, queryTimeoutMs: answerTimeoutMs });
  kysely = newKysely(pool);
});
afterAll(async () => {
  await database.close();
  await home.drop();
});

async function session(): Promise<number> {
  const { rows } = await sql<{ pid: number }>`SELECT pg_backend_pid() AS pid`.execute(kysely);
  return rows[0]!.pid;
}

test('an invalid statement keeps the connection', async () => {
  const before = await session();
  await expect(sql`SELECT nothing`.execute(kysely)).rejects.toThrow('nothing');
  expect(await session()).toBe(before);
});

test.each(['53100', '55P03', '57014', '40001'])(
  'a statement that is refused with %s keeps the connection',
  async (code) => {
    const before = await session();
    const refused = sql.raw(`DO $$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '${code}'; END $$`);
    await expect(refused.execute(kysely)).rejects.toMatchObject({ code });
    await expect(kysely.transaction().execute((transaction) => refused.execute(transaction))).rejects.toMatchObject({
      code,
    });
    expect(await session()).toBe(before);
  },
);

test.each([
  ['a session that was ended', () => sql`SELECT pg_terminate_backend(pg_backend_pid())`.execute(kysely)],
  ['an answer time-out', () => sql`SELECT pg_sleep(60)`.execute(kysely)],
  [
    'the same within a transaction',
    () => kysely.transaction().execute((transaction) => sql`SELECT pg_sleep(60)`.execute(transaction)),
  ],
])('%s ends the connection, and the next statement has another', async (_reason, work) => {
  const before = await session();
  await expect(work()).rejects.toThrow();
  expect(await session()).not.toBe(before);
});
