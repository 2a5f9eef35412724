import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Database, silentLog } from '#pkg/database/index';
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
