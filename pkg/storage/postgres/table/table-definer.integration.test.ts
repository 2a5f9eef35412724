import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Client } from 'pg';
import type { JsonObject } from '#pkg/apimachinery/index';
import { Database, silentLog, type DatabaseLog } from '#pkg/database/index';
import { pollUntil } from '../../../testenv/faults/poll-until.ts';
import { createTestDatabase, type TestDatabase } from '../../../testenv/test-database.ts';
import {
  createOf,
  resourceOf,
  sampleModel,
  sampleObject,
  updateOf,
  widgetIndexes,
  type StoreModel,
} from '../../storetest/sample-model.ts';
import { platformMigrations } from '../migrations.ts';
import { PostgresStore } from '../postgres-store.ts';
import { TableCatalog } from './table-catalog.ts';
import { tableName } from './table.ts';

let testDatabase: TestDatabase;
let database: Database;
/** Represents a long reader such as a dump. */
let reader: Client;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await Database.connect({ connection: testDatabase.connection, log: silentLog });
  // Runs the migrations. Closed at once, because its sweep would drop the tables without a model that tests create.
  await (await PostgresStore.open({ database, log: silentLog })).close();
  reader = await database.newClient();
});

afterEach(() => reader.query('ROLLBACK'));

afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

const tableOf = async (model: StoreModel): Promise<string> =>
  tableName(await new TableCatalog(database.pool).get(resourceOf(model)));
const read = (table: string): Promise<unknown> => reader.query(`BEGIN; LOCK TABLE ${table} IN ACCESS SHARE MODE`);
const exists = async (table: string): Promise<boolean> =>
  (await database.pool.query<{ there: boolean }>('SELECT to_regclass($1) IS NOT NULL AS there', [table])).rows[0]!
    .there;

test("a start does not wait for readers of a deleted model's table; it is dropped when they are done", async () => {
  const left = ['platform.m_998', 'platform.m_999'];
  for (const table of left) await database.pool.query(`CREATE TABLE ${table} (n int)`);
  await read(left[0]!);
  const told: unknown[] = [];
  const log: DatabaseLog = { ...silentLog, info: (details) => told.push(details) };
  const started = await PostgresStore.open({ database, log });
  await pollUntil(async () => told.length > 0 && !(await exists(left[1]!)));
  expect(told).toEqual([{ tables: 1 }]);
  await started.ensureModel(sampleModel('meanwhile'));
  await reader.query('COMMIT');
  await pollUntil(async () => !(await exists(left[0]!)));
  expect(told).toHaveLength(1);
  await started.close();
});

test('a table that cannot be dropped is logged once, and the start continues', async () => {
  await database.pool.query(
    'CREATE TABLE platform.m_997 (n int); CREATE VIEW public.looks AS SELECT n FROM platform.m_997',
  );
  const told: string[] = [];
  const started = await PostgresStore.open({
    database,
    log: { ...silentLog, warn: (_details, message) => told.push(message) },
  });
  await pollUntil(() => Promise.resolve(told.length > 0));
  await started.ensureModel(sampleModel('viewed'));
  await started.close();
  expect(told).toEqual(['a table of a deleted definition cannot be dropped']);
  await database.pool.query('DROP VIEW public.looks; DROP TABLE platform.m_997');
});

test('the table of a model that was created during the sweep is kept', async () => {
  const table = 'platform.m_1000';
  await database.pool.query(`CREATE TABLE ${table} (n int)`);
  await reader.query('BEGIN; SELECT pg_advisory_xact_lock(818)');
  const started = await PostgresStore.open({ database, log: silentLog });
  await pollUntil(
    async () =>
      (
        await database.pool.query(
          "SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 818 AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
        )
      ).rowCount === 1,
  );
  await reader.query(
    "INSERT INTO platform.models (id, api_group, resource, namespaced, columns, columns_made) OVERRIDING SYSTEM VALUE VALUES (1000, '', 'late', false, '[]', 0)",
  );
  await reader.query('COMMIT');
  await started.close();
  expect(await exists(table)).toBe(true);
  await database.pool.query(`DELETE FROM platform.models WHERE id = 1000; DROP TABLE ${table}`);
});

describe('a store that is open', () => {
  let store: PostgresStore;
  beforeAll(async () => {
    store = await PostgresStore.open({ database, log: silentLog });
  });
  afterAll(() => store.close());

  test('a model is dropped while its table is being read, and the table later', async () => {
    const model = sampleModel('dropped', { indexes: [] });
    await store.ensureModel(model);
    const table = await tableOf(model);
    await read(table);
    await store.dropModel(resourceOf(model));
    expect(await exists(table)).toBe(true);
    await store.ensureModel(model);
    await reader.query('COMMIT');
    await pollUntil(async () => !(await exists(table)));
    await store.write(createOf(model, sampleObject('a')));
  });

  test('indexes cannot change while the table is being read: this is an error, does not block other models, and works later', async () => {
    const before = sampleModel('dumped', { indexes: [] });
    const after = sampleModel('dumped', { indexes: [widgetIndexes.owner] });
    await store.ensureModel(before);
    await read(await tableOf(before));
    await expect(store.ensureModel(after, 300)).rejects.toMatchObject({
      code: 'TableInUse',
      message: expect.stringMatching(/a backup or a dump perhaps/),
    });
    expect(await store.indexStates(resourceOf(before))).toEqual([]);
    await store.ensureModel(sampleModel('beside'));
    await store.write(createOf(before, sampleObject('a')));
    await reader.query('COMMIT');
    await store.ensureModel(after);
    await pollUntil(async () => (await store.indexStates(resourceOf(after))).every(({ state }) => state === 'ready'));
  });

  test.each([1370, 1700, 1950])(
    'a row of %i bytes has room for its next version on its page, so that an update touches no index',
    async (bytes) => {
      const model = sampleModel(`roomy${bytes}`, { indexes: [] });
      await store.ensureModel(model);
      const spec = (letter: string): JsonObject => ({ text: letter.repeat(bytes - 285) });
      const [first] = await Promise.all(
        [0, 1, 2, 3, 4, 5, 6, 7].map((i) => store.write(createOf(model, sampleObject(`o${i}`, { spec: spec('a') })))),
      );
      const table = await tableOf(model);
      const placeOfFirst = async (): Promise<{ page: number; bytes: number }> => {
        const { rows } = await database.pool.query<{ page: number; bytes: number }>(
          `SELECT (ctid::text::point)[0]::int AS page, pg_column_size(m.*) AS bytes FROM ${table} m WHERE name = 'o0'`,
        );
        return rows[0]!;
      };
      const before = await placeOfFirst();
      expect(Math.abs(before.bytes - bytes)).toBeLessThan(50);
      await store.write(updateOf(model, first!, spec('b')));
      expect(await placeOfFirst()).toMatchObject({ page: before.page });
    },
  );

  test('the migration gives tables of earlier releases the same room', async () => {
    const model = sampleModel('narrow', { indexes: [] });
    await store.ensureModel(model);
    const table = await tableOf(model);
    const options = async (): Promise<unknown> =>
      (await database.pool.query('SELECT reloptions FROM pg_class WHERE oid = $1::regclass', [table])).rows;
    const made = await options();
    await database.pool.query(`ALTER TABLE ${table} SET (fillfactor = 85)`);
    await platformMigrations.find(({ name }) => name === '0012_fill_factor')!.up(database.kysely);
    expect(await options()).toEqual(made);
  });
});
