import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { Database, databaseFailure, silentLog } from '#pkg/database/index';
import { pollUntil } from '../../../testenv/faults/poll-until.ts';
import { awaitStandby, waitingForStandby } from '../../../testenv/standby-wait.ts';
import { createTestDatabase } from '../../../testenv/test-database.ts';
import { startTestPostgres, type TestPostgres } from '../../../testenv/test-postgres.ts';
import { createOf, resourceOf, sampleModel, sampleObject } from '../../storetest/sample-model.ts';
import { PostgresStore } from '../postgres-store.ts';

const model = sampleModel('guarded');
let postgres: TestPostgres;
let database: Database;
let store: PostgresStore;

beforeAll(async () => {
  // A server of its own: the standbys that commits wait for are a setting of the whole server.
  postgres = await startTestPostgres();
  const { connection, name } = await createTestDatabase({ server: postgres.connection });
  database = await Database.connect({ connection, log: silentLog });
  await database.pool.query(`ALTER DATABASE ${name} SET synchronous_commit = on`);
  await database.close();
  database = await Database.connect({ connection, log: silentLog });
  store = await PostgresStore.open({ database, log: silentLog });
  await store.ensureModel(model);
});

afterAll(async () => {
  await store.close();
  await database.close();
  await postgres.stop();
});

test('a write whose session ends while it waits for a standby is acknowledged when the standby has it, and not before', async () => {
  const kept = { namespace: '', name: 'kept' };
  await awaitStandby(database, 'away');
  let isSettled = false;
  const writing = store.write(createOf(model, sampleObject(kept.name))).finally(() => (isSettled = true));
  await pollUntil(async () => (await waitingForStandby(database)) !== undefined, 30_000, 'the write to wait');
  const sent = await waitingForStandby(database);
  await database.pool.query('SELECT pg_terminate_backend($1, 5000)', [sent]);
  await pollUntil(
    async () => ![undefined, sent].includes(await waitingForStandby(database)),
    30_000,
    'another session to wait in its place',
  );
  expect(isSettled).toBe(false);
  // The object is already visible: a process that checked only for its presence would acknowledge a write that can be
  // lost with this server.
  const seen = await store.get(resourceOf(model), kept);
  await awaitStandby(database, '');
  expect((await writing).revision).toBe(seen!.revision);
});

/** Cancels the commit that waits for a standby; resolves when PostgreSQL has answered it. */
async function cancelWait(): Promise<number> {
  await pollUntil(async () => (await waitingForStandby(database)) !== undefined, 30_000, 'a commit to wait');
  const pid = (await waitingForStandby(database))!;
  await database.pool.query('SELECT pg_cancel_backend($1)', [pid]);
  await pollUntil(async () => (await waitingForStandby(database)) !== pid, 30_000, 'the wait to end');
  return pid;
}

test('a write whose wait for a standby is cancelled is acknowledged when the standby has it, and not before', async () => {
  const kept = { namespace: '', name: 'cancelled' };
  await awaitStandby(database, 'away');
  let isSettled = false;
  const writing = store.write(createOf(model, sampleObject(kept.name))).finally(() => (isSettled = true));
  // PostgreSQL says after each that the commit is done, with a warning alone: the write's, and that of the commit after it.
  const first = await cancelWait();
  const second = await cancelWait();
  expect(second).not.toBe(first);
  await pollUntil(async () => (await waitingForStandby(database)) !== undefined, 30_000, 'a third commit to wait');
  expect(isSettled).toBe(false);
  const seen = await store.get(resourceOf(model), kept);
  await awaitStandby(database, '');
  expect((await writing).revision).toBe(seen!.revision);
});

test.each([
  ['by promise', (text: string) => database.pool.query(text)],
  ['in a transaction', (text: string) => database.kysely.transaction().execute((t) => sql.raw(text).execute(t))],
])('a statement %s whose wait for a standby is cancelled fails, and the next one does not', async (_how, run) => {
  await database.pool.query('CREATE TABLE IF NOT EXISTS public.facts (fact text)');
  await awaitStandby(database, 'away');
  const writing = run("INSERT INTO public.facts VALUES ('unconfirmed')").catch((error: unknown) => error);
  await cancelWait();
  expect(databaseFailure(await writing)).toBe('standby_missing');
  await awaitStandby(database, '');
  await run("INSERT INTO public.facts VALUES ('confirmed')");
});
