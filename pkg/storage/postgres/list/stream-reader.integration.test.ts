import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Database, silentLog } from '#pkg/database/index';
import { createTestDatabase, type TestDatabase } from '../../../testenv/test-database.ts';
import { createOf, resourceOf, sampleModel, sampleObject } from '../../storetest/sample-model.ts';
import { listSessionSettings } from './list-query.ts';
import { LargeReads } from '../connection/large-reads.ts';
import { StreamReader } from './stream-reader.ts';
import { Snapshots } from './snapshots.ts';
import { PostgresStore } from '../postgres-store.ts';
import { TableCatalog } from '../table/table-catalog.ts';

const model = sampleModel('streamed', { indexes: [] });
let testDatabase: TestDatabase;
let database: Database;
let store: PostgresStore;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await Database.connect({ connection: testDatabase.connection, log: silentLog });
  store = await PostgresStore.open({ database, log: silentLog });
  await store.ensureModel(model);
  await Promise.all(Array.from({ length: 120 }, (_, i) => store.write(createOf(model, sampleObject(`o-${i}`)))));
});

afterAll(async () => {
  await store.close();
  await database.close();
  await testDatabase.drop();
});

test('a closed stream does not affect the next stream on its connection', async () => {
  const table = await new TableCatalog(database.pool).get(resourceOf(model));
  const streams = new StreamReader({
    reads: database.pool,
    snapshots: new Snapshots(database.newPool({ max: 1, settings: listSessionSettings })),
    large: new LargeReads(1),
  });
  const query = { selector: { labels: [], fields: [] }, sort: [], order: 'sort' as const };
  const closed = await streams.read(table, query);
  const late = closed.objects[Symbol.asyncIterator]();
  await late.next();
  await closed.close();
  const other = await streams.read(table, query);
  await expect(late.next()).rejects.toMatchObject({ code: 'Unavailable' });
  let count = 0;
  for await (const batch of other.objects) count += batch.length;
  expect(count).toBe(120);
});

test('idle readers make others retry later, and release their slots when they leave', async () => {
  const table = await new TableCatalog(database.pool).get(resourceOf(model));
  const streams = new StreamReader({
    reads: database.pool,
    snapshots: new Snapshots(database.newPool({ max: 2, settings: listSessionSettings }), 1000),
    large: new LargeReads(1),
  });
  const query = { selector: { labels: [], fields: [] }, sort: [], order: 'sort' as const };
  const held = await Promise.all([streams.read(table, query), streams.read(table, query)]);
  await expect(streams.read(table, query)).rejects.toMatchObject({ code: 'Overloaded' });
  await held[0].close();
  const third = await streams.read(table, query);
  let count = 0;
  for await (const batch of third.objects) count += batch.length;
  expect(count).toBe(120);
  await held[1].close();
});
