import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Database, silentLog } from '#pkg/database/index';
import { createTestDatabase, type TestDatabase } from '../../../testenv/test-database.ts';
import { createOf, resourceOf, sampleModel, sampleObject } from '../../storetest/sample-model.ts';
import { PostgresStore } from '../postgres-store.ts';

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

test('a store that reconnects to a rewound database reports it', async () => {
  const stores = await Promise.all([1, 2].map(() => PostgresStore.open({ database, log: silentLog })));
  await database.pool.query("UPDATE platform.meta SET timeline = 'another'");
  await database.pool.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE 'LISTEN%'",
  );
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

  // Like a restored copy: the data of one cluster in another.
  await database.pool.query("UPDATE platform.meta SET system_identifier = 'another'");
  const stores = await Promise.all([1, 2, 3].map(() => PostgresStore.open({ database, log: silentLog })));
  const after = await stores[0]!.write(createOf(model, sampleObject('after')));
  expect(after.revision).toBeGreaterThan(before.revision + 999_999_999);
  const { rows } = await database.pool.query<{ epoch: number }>('SELECT epoch FROM platform.meta');
  expect(rows[0]!.epoch).toBe(3);
  for (const store of stores) {
    await store.changes.catchUp();
    await expect(store.changes.read(resourceOf(model), before.revision)).rejects.toMatchObject({ code: 'Compacted' });
    expect(await store.get(resourceOf(model), { namespace: '', name: 'before' })).toMatchObject({
      revision: before.revision,
    });
  }
  const page = await stores[1]!.page(resourceOf(model), {
    selector: { labels: [], fields: [] },
    sort: [],
    page: 1,
    size: 10,
    exactTotal: false,
    exactTotalLimit: 10,
  });
  expect(page.revision).toBe(after.revision);
  expect((await stores[2]!.changes.read(resourceOf(model), page.revision)).changes).toEqual([]);
  await Promise.all(stores.map((store) => store.close()));
});

test('stores that lose their newest history start a new epoch, and so does a store that starts later', async () => {
  const model = sampleModel('vanishing');
  const { epoch } = await meta(database);
  const stores = await Promise.all([1, 2].map(() => PostgresStore.open({ database, log: silentLog })));
  await stores[0]!.ensureModel(model);
  // Like a standby that took over: the stored timeline is another one.
  await database.pool.query("UPDATE platform.meta SET timeline = 'the one before'");
  const kept = await stores[0]!.write(createOf(model, sampleObject('kept')));
  const lost = await stores[0]!.write(createOf(model, sampleObject('lost')));
  await Promise.all(stores.map((store) => store.changes.catchUp()));
  // Like a restore of the state after the first write, with later writes of another process.
  await database.pool.query(
    `BEGIN; DELETE FROM platform.change_log WHERE rev > ${kept.revision}; SELECT setval('platform.revision', ${kept.revision});
     INSERT INTO platform.change_log (rev, size, model, type, namespace, name) SELECT nextval('platform.revision'), 0, 0, 'M', '', '' FROM generate_series(1, 5); COMMIT`,
  );
  await Promise.all(stores.map((store) => store.rewound));
  await Promise.all(stores.map((store) => store.close()));
  const before = await meta(database);
  expect(before.compacted).toBeGreaterThan(lost.revision + 999_999_999);
  expect(before.epoch).toBe(epoch + 1);
  const fresh = await PostgresStore.open({ database, log: silentLog });
  expect(await meta(database)).toEqual(before);
  expect((await fresh.write(createOf(model, sampleObject('again')))).revision).toBeGreaterThan(before.compacted);
  await fresh.close();
});

test('a copy of the database on the same server is detected', async () => {
  const original = await createTestDatabase();
  const first = await Database.connect({ connection: original.connection, log: silentLog });
  await PostgresStore.open({ database: first, log: silentLog }).then((store) => store.close());
  expect((await meta(first)).epoch).toBe(1);
  await first.close();
  const copied = await createTestDatabase({ template: original.name });
  const second = await Database.connect({ connection: copied.connection, log: silentLog });
  for (let opened = 0; opened < 2; opened += 1) {
    await PostgresStore.open({ database: second, log: silentLog }).then((store) => store.close());
    expect((await meta(second)).epoch).toBe(2);
  }
  await second.close();
  await copied.drop();
  await original.drop();
});

test('a restored copy of the data folder is detected, if the files are ours', async () => {
  const open = (): Promise<void> =>
    PostgresStore.open({ database, log: silentLog, ownsFiles: true }).then((store) => store.close());
  await database.pool.query('UPDATE platform.meta SET incarnation = NULL');
  await open();
  const { epoch } = await meta(database);
  await open();
  expect((await meta(database)).epoch).toBe(epoch);
  // No copy preserves the change time of its files.
  await database.pool.query("UPDATE platform.meta SET incarnation = regexp_replace(incarnation, '[^/]+$', '1')");
  await open();
  expect((await meta(database)).epoch).toBe(epoch + 1);
});

async function meta({ pool }: Database): Promise<{ epoch: number; compacted: number }> {
  const { rows } = await pool.query<{ epoch: number; compacted: string }>('SELECT epoch, compacted FROM platform.meta');
  return { epoch: rows[0]!.epoch, compacted: Number(rows[0]!.compacted) };
}
