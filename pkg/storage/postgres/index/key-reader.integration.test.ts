import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Pool } from 'pg';
import { Database, silentLog } from '#pkg/database/index';
import { createTestDatabase, type TestDatabase } from '../../../testenv/test-database.ts';
import { computedModel, createOf, resourceOf, sampleModel, sampleObject } from '../../storetest/sample-model.ts';
import { sampleKeyEvaluator } from '../../storetest/sample-key-evaluator.ts';
import { KeyReader } from './key-reader.ts';
import { LargeReads } from '../connection/large-reads.ts';
import { PostgresStore } from '../postgres-store.ts';
import { TableCatalog } from '../table/table-catalog.ts';

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

test('each of the batched reads uses the table shape that it asks for', async () => {
  const model = computedModel('read', { k: '(o) => o.metadata.name' }, [{ name: 'k', key: 'k' }]);
  await store.ensureModel(model);
  await store.write(createOf(model, sampleObject('a')));
  const table = await new TableCatalog(database.pool).get(resourceOf(model));
  const reader = new KeyReader(database.pool, new LargeReads(1));
  const key = { namespace: '', name: 'a' };
  const [before, now] = await Promise.all([
    reader.get({ ...table, shape: table.shape - 1, columns: [], computed: undefined }, key),
    reader.get(table, key),
  ]);
  expect([before!.keys, JSON.parse(now!.keys!)]).toEqual([undefined, { [model.indexes[0]!.computed!.id]: 'a' }]);
});

test('reads of a namespace with large objects are split, about a megabyte at a time', async () => {
  const model = sampleModel('heavy', { namespaced: true });
  await store.ensureModel(model);
  const names = Array.from({ length: 40 }, (_, i) => `o-${i}`);
  for (const name of names)
    await store.write(createOf(model, sampleObject(name, { namespace: 'heavy', spec: { text: 'x'.repeat(50_000) } })));
  for (const name of names) await store.write(createOf(model, sampleObject(name, { namespace: 'light' })));
  const table = await new TableCatalog(database.pool).get(resourceOf(model));
  const asked: unknown[][] = [];
  const pool = {
    query: (statement: { values: unknown[] }) => (
      asked.push(statement.values[0] as unknown[]),
      database.pool.query(statement as never)
    ),
  } as unknown as Pool;
  const reader = new KeyReader(pool, new LargeReads(4));
  const readAll = () =>
    Promise.all(names.flatMap((name) => ['heavy', 'light'].map((namespace) => reader.get(table, { namespace, name }))));
  await readAll();
  expect(asked.map((namespaces) => namespaces.length)).toEqual([80]);
  asked.length = 0;
  const found = await readAll();
  expect(found.map((object) => `${object!.namespace} ${object!.name}`)).toEqual(
    names.flatMap((name) => [`heavy ${name}`, `light ${name}`]),
  );
  expect(asked).toHaveLength(3);
  const [light, ...heavy] = asked.toSorted((a, b) => b.length - a.length);
  expect([light!.length, new Set(light)]).toEqual([40, new Set(['light'])]);
  for (const group of heavy) expect(group.length).toBeLessThanOrEqual(21);
});
