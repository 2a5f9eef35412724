import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Database, silentLog } from '#pkg/database/index';
import { createTestDatabase, type TestDatabase } from '../testenv/test-database.ts';
import { inTransaction } from './in-transaction.ts';

let home: TestDatabase;
let database: Database;

beforeAll(async () => {
  home = await createTestDatabase();
  database = await Database.connect({ connection: home.connection, log: silentLog });
});
afterAll(async () => {
  await database.close();
  await home.drop();
});

const answer = (text: string): Promise<unknown[]> =>
  inTransaction(
    database,
    { begin: 'BEGIN', signal: new AbortController().signal },
    async (client) => (await client.query<object>(text)).rows,
  );

test('PostgreSQL sends keepalives to a silent client', async () => {
  // Without TCP the settings are accepted and read as 0.
  const text =
    "SELECT name, source, inet_server_addr() IS NULL AS local, setting FROM pg_settings WHERE name LIKE 'tcp_keepalives_%' ORDER BY name";
  const values = { tcp_keepalives_count: '3', tcp_keepalives_idle: '30', tcp_keepalives_interval: '10' };
  const rows = (await answer(text)) as { local: boolean }[];
  expect(rows).toEqual(
    Object.entries(values).map(([name, setting]) => ({
      name,
      source: 'session',
      local: expect.any(Boolean),
      setting: rows[0]!.local ? '0' : setting,
    })),
  );
});

test('the error for rows that a standby removed during a backup says what to do', async () => {
  const conflict =
    "DO $$ BEGIN RAISE EXCEPTION 'canceling statement due to conflict with recovery' USING ERRCODE = '40001'; END $$";
  await expect(answer(conflict)).rejects.toThrow(/^The standby .* hot_standby_feedback = on there/);
});

test('an error of the work is not reported as an error of PostgreSQL', async () => {
  const gone = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
  await expect(
    inTransaction(database, { begin: 'BEGIN', signal: new AbortController().signal }, () => Promise.reject(gone)),
  ).rejects.toBe(gone);
});

test('a broken connection is reported', async () => {
  const breaking = inTransaction(database, { begin: 'BEGIN', signal: new AbortController().signal }, async (client) => {
    client.connection.stream.destroy();
    await client.query('SELECT 1');
  });
  await expect(breaking).rejects.toThrow('The connection to PostgreSQL broke.');
});
