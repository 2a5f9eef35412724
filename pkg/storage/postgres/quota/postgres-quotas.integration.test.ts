import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Client } from 'pg';
import { Database, silentLog } from '#pkg/database/index';
import { pollUntil } from '../../../testenv/faults/poll-until.ts';
import { createTestDatabase, type TestDatabase } from '../../../testenv/test-database.ts';
import { createOf, resourceOf, sampleModel, sampleObject } from '../../storetest/sample-model.ts';
import { revisionLock } from '../connection/revision-lock.ts';
import { PostgresStore } from '../postgres-store.ts';

const model = sampleModel('things', { namespaced: true, indexes: [] });
const never = new AbortController().signal;
const everything = { bytes: { max: 1_000_000, quota: 'all' } };
let testDatabase: TestDatabase;
let database: Database;
let store: PostgresStore;
let client: Client;
let id: number;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await Database.connect({ connection: testDatabase.connection, log: silentLog });
  store = await PostgresStore.open({ database, log: silentLog });
  await store.ensureModel(model);
  client = await database.newClient();
  id = await idOf('things');
  await store.quotas.set('other', [{ resource: resourceOf(model), count: { max: 10, quota: 'few' } }]);
});

afterAll(async () => {
  await client.end();
  await store.close();
  await database.close();
  await testDatabase.drop();
});

async function idOf(resource: string): Promise<number> {
  const { rows } = await database.pool.query<{ id: number }>('SELECT id FROM platform.models WHERE resource = $1', [
    resource,
  ]);
  return rows[0]!.id;
}

const insert = (table: number, namespace: string, name: string): Promise<unknown> =>
  client.query(
    `INSERT INTO platform.m_${table} (namespace, name, rev, uid, created, labels, fingerprint, body) VALUES ($1, $2, 1, gen_random_uuid(), now(), '{}', '', '{}')`,
    [namespace, name],
  );

test('a write that is under way when a limit is set is counted: the limit waits for its commit', async () => {
  await client.query('BEGIN');
  await client.query(`SELECT pg_advisory_xact_lock(${revisionLock})`);
  await insert(id, 'late', 'a');
  const limiting = store.quotas
    .set('late', [{ resource: resourceOf(model), count: { max: 1, quota: 'one' } }])
    .then(() => store.quotas.count('late', never));
  await pollUntil(async () => {
    const { rowCount } = await database.pool.query("SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
    return rowCount !== 0;
  });
  expect(await store.quotas.namespaces()).not.toContain('late');
  await client.query('COMMIT');
  await limiting;
  expect((await store.quotas.usage(['late'])).get('late')).toMatchObject([{ count: 1, isCounted: true }]);
  await expect(store.write(createOf(model, sampleObject('b', { namespace: 'late' })))).rejects.toMatchObject({
    code: 'QuotaExceeded',
  });
});

test('a model that a replica of the release before makes, fills and drops is counted', async () => {
  await store.quotas.set('old', [everything]);
  await store.quotas.count('old', never);
  const old = sampleModel('older', { namespaced: true, indexes: [] });
  await store.ensureModel(old);
  const older = await idOf('older');
  // What that release leaves: a table without triggers.
  for (const name of ['quota_insert', 'quota_update', 'quota_delete'])
    await client.query(`DROP TRIGGER ${name} ON platform.m_${older}`);
  await client.query('UPDATE platform.models SET limited = false, shape = shape + 1 WHERE id = $1', [older]);
  await insert(older, 'old', 'a');
  expect((await store.quotas.usage(['old'])).get('old')).toMatchObject([{ count: 0, mustCount: false }]);
  await store.quotas.limitTables();
  await store.quotas.count('old', never);
  await insert(older, 'old', 'b');
  expect((await store.quotas.usage(['old'])).get('old')).toMatchObject([{ count: 2, bytes: 4, mustCount: false }]);
  await client.query('DELETE FROM platform.models WHERE id = $1', [older]);
  await store.quotas.count('old', never);
  expect((await store.quotas.usage(['old'])).get('old')).toMatchObject([{ count: 0, bytes: 0 }]);
});

test('a reader of the table keeps no limit from going, only its triggers stay for a while', async () => {
  await store.quotas.set('gone', [everything]);
  await client.query('BEGIN');
  await client.query(`SELECT FROM platform.m_${id} LIMIT 1`);
  await store.quotas.set('gone', []);
  expect(await store.quotas.namespaces()).not.toContain('gone');
  await store.write(createOf(model, sampleObject('c', { namespace: 'gone' })));
  await client.query('ROLLBACK');
  for (const namespace of await store.quotas.namespaces()) await store.quotas.set(namespace, []);
  const { rows } = await client.query<{ limited: boolean }>('SELECT limited FROM platform.models WHERE limited');
  expect(rows).toEqual([]);
  const { rowCount } = await client.query(
    `SELECT FROM pg_trigger WHERE tgname LIKE 'quota%' AND tgrelid = 'platform.m_${id}'::regclass`,
  );
  expect(rowCount).toBe(0);
});
