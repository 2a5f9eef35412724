import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Database, silentLog } from '#pkg/database/index';
import { createTestDatabase, type TestDatabase } from '../../testenv/test-database.ts';
import { computedModel, createOf, resourceOf, sampleObject } from '../storetest/sample-model.ts';
import { sampleKeyEvaluator } from '../storetest/sample-key-evaluator.ts';
import { KeyReader } from './key-reader.ts';
import { LargeReads } from './large-reads.ts';
import { PostgresStore } from './postgres-store.ts';
import { TableCatalog } from './table-catalog.ts';

let testDatabase: TestDatabase;
let database: Database;
let store: PostgresStore;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await Database.connect({ connection: testDatabase.connection, log: silentLog });
  store = await PostgresStore.open({ database, log: silentLog, keyEvaluator: sampleKeyEvaluator });
});

afterAll(async () => {
  await store.close();
  await database.close();
  await testDatabase.drop();
});

test('reads of one turn are each of the form of the table that they ask for', async () => {
  const model = computedModel('read', { k: '(o) => o.metadata.name' }, [{ name: 'k', key: 'k' }]);
  await store.ensureModel(model);
  await store.write(createOf(model, sampleObject('a')));
  const table = await new TableCatalog(database.pool).get(resourceOf(model));
  const reader = new KeyReader(database.pool, new LargeReads(1));
  const key = { namespace: '', name: 'a' };
  const [before, now] = await Promise.all([reader.get({ ...table, shape: table.shape - 1, columns: [], computed: undefined }, key), reader.get(table, key)]);
  expect([before!.keys, JSON.parse(now!.keys!)]).toEqual([undefined, { [model.indexes[0]!.computed!.id]: 'a' }]);
});
