import { Readable, Writable } from 'node:stream';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { Database, migrate, silentLog } from '#pkg/database/index';
import { pollUntil } from '../testenv/faults/poll-until.ts';
import { awaitStandby, waitingForStandby } from '../testenv/standby-wait.ts';
import { createTestDatabase } from '../testenv/test-database.ts';
import { startTestPostgres, type TestPostgres } from '../testenv/test-postgres.ts';
import { backUp } from './back-up.ts';
import { shop } from './backuptest/shop-schema.ts';
import { restore } from './restore.ts';
import { inTransaction, UnansweredCommit } from './in-transaction.ts';

let postgres: TestPostgres;
let database: Database;
let warnings: string[] = [];

beforeAll(async () => {
  // A separate server: the standbys that commits wait for are a setting of the whole server.
  postgres = await startTestPostgres();
  const { connection, name } = await createTestDatabase({ server: postgres.connection });
  database = await Database.connect({
    connection,
    log: { ...silentLog, warn: (_details, message) => void warnings.push(message) },
  });
  await database.pool.query(`ALTER DATABASE ${name} SET synchronous_commit = on; CREATE TABLE kept (name text)`);
});
afterEach(() => awaitStandby(database, ''));
afterAll(async () => {
  await database.close();
  await postgres.stop();
});

/** A transaction whose COMMIT waits for a standby. */
async function committing(name: string, signal: AbortSignal): Promise<{ outcome: Promise<unknown>; pid: number }> {
  await awaitStandby(database, 'away');
  const outcome = inTransaction(database, { begin: 'BEGIN', signal }, (client) =>
    client.query('INSERT INTO public.kept VALUES ($1)', [name]),
  ).catch((error: unknown) => error);
  await pollUntil(async () => (await waitingForStandby(database)) !== undefined, 60_000, 'the commit to wait');
  return { outcome, pid: (await waitingForStandby(database))! };
}

async function expectUnknown(outcome: Promise<unknown>): Promise<void> {
  const error = (await outcome) as Error;
  expect(error).toBeInstanceOf(UnansweredCommit);
  const question = /SELECT pg_xact_status\('\d+'\)/.exec(error.message)![0];
  await awaitStandby(database, '');
  await pollUntil(
    async () =>
      (await database.pool.query<{ pg_xact_status: string }>(question)).rows[0]!.pg_xact_status === 'committed',
    60_000,
    'the commit',
  );
}

test('a transaction that is ended while its COMMIT waits for a standby does not report that nothing changed', async () => {
  const controller = new AbortController();
  const { outcome } = await committing('ended', controller.signal);
  warnings = [];
  controller.abort(new Error('Ended by SIGTERM.'));
  await expectUnknown(outcome);
  // The abort was requested, so it is not logged.
  expect(warnings).toEqual([]);
});

test('nor does a restore report that', async () => {
  await migrate(database, 'shop', shop.migrations);
  const pieces: Buffer[] = [];
  const options = { database, schemas: [shop], signal: new AbortController().signal };
  await backUp(
    { ...options, version: '1.2.3' },
    new Writable({ write: (piece: Buffer, _encoding, done) => (pieces.push(piece), done()) }),
  );
  await database.pool.query('DROP SCHEMA shop CASCADE');
  await awaitStandby(database, 'away');
  const controller = new AbortController();
  const outcome = restore({ ...options, replace: false, signal: controller.signal }, Readable.from(pieces)).catch(
    (error: unknown) => error,
  );
  await pollUntil(async () => (await waitingForStandby(database)) !== undefined, 60_000, 'the commit to wait');
  controller.abort(new Error('Ended by SIGTERM.'));
  await expectUnknown(outcome);
  expect((await database.pool.query('SELECT FROM shop.customers')).rowCount).toBe(1);
});

test('nor does a transaction whose session is ended then', async () => {
  const { outcome, pid } = await committing('terminated', new AbortController().signal);
  await database.pool.query('SELECT pg_terminate_backend($1)', [pid]);
  await expectUnknown(outcome);
});

test('the answer of PostgreSQL to COMMIT is reported', async () => {
  await database.pool.query(
    'CREATE TABLE parents (id int PRIMARY KEY); CREATE TABLE children (parent int REFERENCES parents DEFERRABLE INITIALLY DEFERRED)',
  );
  const outcome = inTransaction(database, { begin: 'BEGIN', signal: new AbortController().signal }, (client) =>
    client.query('INSERT INTO public.children VALUES (1)'),
  );
  await expect(outcome).rejects.toThrow(/^PostgreSQL refused: .*\(23503\)\.$/);
});
