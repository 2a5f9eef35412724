import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Database, silentLog } from '#pkg/database/index';
import { createTestDatabase, type TestDatabase } from '../../testenv/test-database.ts';
import { createOf, resourceOf, sampleModel, sampleObject } from '../storetest/sample-model.ts';
import { PostgresStore } from './postgres-store.ts';

let testDatabase: TestDatabase;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await Database.connect({ connection: testDatabase.connection, log: silentLog });
});

afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

test('a store that reconnects to a rewound database says so', async () => {
  const stores = await Promise.all([1, 2].map(() => PostgresStore.open({ database, log: silentLog })));
  await database.pool.query("UPDATE platform.meta SET timeline = 'another'");
  await database.pool.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE 'LISTEN%'");
  await Promise.all(stores.map((store) => store.rewound));
  const { rows } = await database.pool.query<{ epoch: number }>('SELECT epoch FROM platform.meta');
  expect(rows[0]!.epoch).toBe(2);
  await Promise.all(stores.map((store) => store.close()));
});

test('after a restore revisions jump once, and older history is void', async () => {
  const model = sampleModel('restored');
  const first = await PostgresStore.open({ database, log: silentLog });
  await first.ensureModel(model);
  const before = await first.write(createOf(model, sampleObject('before')));
  await first.close();

  // What a restored copy looks like: the data of one cluster in another.
  await database.pool.query("UPDATE platform.meta SET system_identifier = 'another'");
  const stores = await Promise.all([1, 2, 3].map(() => PostgresStore.open({ database, log: silentLog })));
  const after = await stores[0]!.write(createOf(model, sampleObject('after')));
  expect(after.revision).toBeGreaterThan(before.revision + 999_999_999);
  expect(after.revision).toBeLessThan(before.revision + 1_999_999_999);
  for (const store of stores) {
    await store.changes.catchUp();
    await expect(store.changes.read(resourceOf(model), before.revision)).rejects.toMatchObject({ code: 'Compacted' });
    expect(await store.get(resourceOf(model), { namespace: '', name: 'before' })).toMatchObject({ revision: before.revision });
  }
  const page = await stores[1]!.page(resourceOf(model), { selector: { labels: [], fields: [] }, sort: [], page: 1, size: 10, exactTotal: false, exactTotalLimit: 10 });
  expect(page.revision).toBe(after.revision);
  expect((await stores[2]!.changes.read(resourceOf(model), page.revision)).changes).toEqual([]);
  await Promise.all(stores.map((store) => store.close()));
});
