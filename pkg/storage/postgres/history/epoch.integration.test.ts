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
  await database.pool.query("UPDATE platform.meta SET system_identifier = 'another'");
  await database.pool.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE 'LISTEN%'",
  );
  expect(await Promise.all(stores.map((store) => store.rewound))).toEqual(['void', 'void']);
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
  expect(after.revision).toBeGreaterThan(before.revision + 1);
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

test('stores that lose their newest history without a takeover start a new epoch, and so does a store that starts later', async () => {
  const model = sampleModel('vanishing');
  const { epoch } = await meta(database);
  const stores = await Promise.all([1, 2].map(() => PostgresStore.open({ database, log: silentLog })));
  await stores[0]!.ensureModel(model);
  const kept = await stores[0]!.write(createOf(model, sampleObject('kept')));
  const lost = await stores[0]!.write(createOf(model, sampleObject('lost')));
  await Promise.all(stores.map((store) => store.changes.catchUp()));
  await rewind(kept.revision, writesOfAnother);
  expect(await Promise.all(stores.map((store) => store.rewound))).toEqual(['void', 'void']);
  await Promise.all(stores.map((store) => store.close()));
  const before = await meta(database);
  expect(before.compacted).toBeGreaterThan(lost.revision);
  expect(before.epoch).toBe(epoch + 1);
  const fresh = await PostgresStore.open({ database, log: silentLog });
  expect(await meta(database)).toEqual(before);
  expect((await fresh.write(createOf(model, sampleObject('again')))).revision).toBeGreaterThan(before.compacted);
  await fresh.close();
});

test('after a takeover that lost nothing, stores go on, and the jump comes before the first write', async () => {
  const model = sampleModel('surviving');
  const before = await meta(database);
  const stores = await Promise.all([1, 2].map(() => PostgresStore.open({ database, log: silentLog })));
  const heard: number[] = [];
  stores[1]!.changes.subscribe((changes) => heard.push(...changes.map(({ revision }) => revision)));
  await stores[0]!.ensureModel(model);
  const first = await stores[0]!.write(createOf(model, sampleObject('first')));
  const chunk = await stores[0]!.chunk(resourceOf(model), { ...everything, limit: 1 });
  await takeOver();
  // No connection was lost, so nothing but the write itself can notice.
  const second = await stores[0]!.write(createOf(model, sampleObject('second')));
  expect(second.revision).toBeGreaterThan(first.revision + 1);
  await takeOver();
  const [third, fourth] = await Promise.all(
    ['third', 'fourth'].map((name) => stores[0]!.write(createOf(model, sampleObject(name)))),
  );
  expect(third!.revision).toBeGreaterThan(second.revision + 1);
  for (const { changes } of stores) {
    await changes.catchUp();
    expect((await changes.read(resourceOf(model), first.revision)).changes.map(({ revision }) => revision)).toEqual(
      [second, third!, fourth!].map(({ revision }) => revision).toSorted((a, b) => a - b),
    );
    for (const { revision } of [first, second, third!, fourth!]) expect(changes.isLost(revision)).toBe(false);
    for (const { revision } of [first, second]) {
      expect(changes.isLost(revision + 1)).toBe(true);
      await expect(changes.read(resourceOf(model), revision + 1)).rejects.toMatchObject({ code: 'Compacted' });
    }
  }
  expect(heard).toEqual([first, second, third!, fourth!].map(({ revision }) => revision).toSorted((a, b) => a - b));
  // A list that began before the takeover may be continued; one that a lost server began may not.
  expect(chunk.next).toBeUndefined();
  const after = { namespace: '', name: 'f', keys: [], revision: first.revision, served: 1 };
  await stores[1]!.chunk(resourceOf(model), { ...everything, limit: 1, after });
  await expect(
    stores[1]!.chunk(resourceOf(model), { ...everything, limit: 1, after: { ...after, revision: first.revision + 1 } }),
  ).rejects.toMatchObject({ code: 'Compacted' });
  expect(await meta(database)).toEqual(before);
  await Promise.all(stores.map((store) => store.close()));
});

test('a store that knows what a takeover lost stops; one that does not goes on', async () => {
  const model = sampleModel('forgotten');
  const before = await meta(database);
  const [behind, ahead] = await Promise.all([1, 2].map(() => PostgresStore.open({ database, log: silentLog })));
  await ahead!.ensureModel(model);
  const kept = await ahead!.write(createOf(model, sampleObject('kept')));
  await behind!.close();
  const lost = await ahead!.write(createOf(model, sampleObject('lost')));
  await rewind(kept.revision, otherTimeline);
  const fresh = await PostgresStore.open({ database, log: silentLog });
  expect(await ahead!.rewound).toBe('failover');
  expect(fresh.changes.isLost(kept.revision)).toBe(false);
  expect(fresh.changes.isLost(lost.revision)).toBe(true);
  expect(await meta(database)).toEqual(before);
  await Promise.all([ahead!, fresh].map((store) => store.close()));
});

test('a jump that a second takeover loses is made again, above everything that was given out', async () => {
  const model = sampleModel('twice');
  const store = await PostgresStore.open({ database, log: silentLog });
  await store.ensureModel(model);
  const kept = await store.write(createOf(model, sampleObject('kept')));
  await takeOver();
  const lost = await store.write(createOf(model, sampleObject('lost')));
  // The second standby has neither the jump nor what was written after it.
  await rewind(kept.revision, otherTimeline);
  expect(await store.rewound).toBe('failover');
  await store.close();
  const fresh = await PostgresStore.open({ database, log: silentLog });
  expect(fresh.changes.isLost(lost.revision)).toBe(true);
  const again = await fresh.write(createOf(model, sampleObject('again')));
  expect(again.revision).toBeGreaterThan(lost.revision);
  await fresh.close();
});

test('compaction removes gaps of compacted history', async () => {
  const model = sampleModel('compacted');
  const store = await PostgresStore.open({ database, log: silentLog });
  await store.ensureModel(model);
  await takeOver();
  await store.write(createOf(model, sampleObject('first')));
  await store.write(createOf(model, sampleObject('second')));
  expect(await gaps()).toBeGreaterThan(0);
  await store.compact({ minAgeMs: 0, maxSizeBytes: 1 << 30, idempotencyKeyAgeMs: 60_000 });
  expect(await gaps()).toBe(0);
  await store.close();
});

const everything = { selector: { labels: [], fields: [] }, sort: [] };

const otherTimeline = "UPDATE platform.meta SET timeline = 'the one before'";
const writesOfAnother =
  "INSERT INTO platform.change_log (rev, size, model, type, namespace, name) SELECT nextval('platform.revision'), 0, 0, 'M', '', '' FROM generate_series(1, 5)";

/** Like a standby that took over with all of the history: the stored timeline is another one. */
async function takeOver(): Promise<void> {
  await database.pool.query(otherTimeline);
}

/** Like an older state of the database. */
async function rewind(revision: number, more: string): Promise<void> {
  await database.pool.query(
    `BEGIN; DELETE FROM platform.change_log WHERE rev > ${revision}; DELETE FROM platform.gaps WHERE up_to > ${revision};
     SELECT setval('platform.revision', ${revision}); ${more}; COMMIT`,
  );
}

async function gaps(): Promise<number> {
  const { rows } = await database.pool.query<{ gaps: number }>('SELECT count(*)::int AS gaps FROM platform.gaps');
  return rows[0]!.gaps;
}

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
