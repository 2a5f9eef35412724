import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Pool, QueryResult } from 'pg';
import { Database, silentLog } from '#pkg/database/index';
import { createTestDatabase, type TestDatabase } from '../../testenv/test-database.ts';
import { decodeBody } from '../body.ts';
import type { Change } from '../change.ts';
import type { StoredObject } from '../store.ts';
import { createOf, resourceOf, sampleModel, sampleObject } from '../storetest/sample-model.ts';
import { ChunkReader } from './list-chunk.ts';
import { MatchBounds } from './match-bounds.ts';
import { ObjectCounter } from './object-counter.ts';
import { PostgresStore } from './postgres-store.ts';
import { TableCatalog } from './table-catalog.ts';

const model = sampleModel('logged', { indexes: [] });
const nothing = { selector: { labels: [], fields: [] }, sort: [] };
let testDatabase: TestDatabase;
let database: Database;
let store: PostgresStore;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await Database.connect({ connection: testDatabase.connection, log: silentLog });
  store = await PostgresStore.open({ database, log: silentLog });
  await store.ensureModel(model);
});

afterAll(async () => {
  await store.close();
  await database.close();
  await testDatabase.drop();
});

/** The real pool, except that something happens before each statement after the first. */
function interrupted(pool: Pool, between: () => Promise<void>): Pool {
  let statements = 0;
  const query = async (...args: unknown[]): Promise<QueryResult> => {
    statements += 1;
    if (statements > 1) await between();
    return (pool.query as unknown as (...all: unknown[]) => Promise<QueryResult>).apply(pool, args);
  };
  return Object.assign(Object.create(pool) as Pool, { query });
}

async function update(from: StoredObject, spec: Record<string, string>): Promise<StoredObject> {
  return store.write({ type: 'update', resource: resourceOf(model), object: { ...decodeBody(from.body, from.revision), spec }, fingerprint: 'f1', from });
}

test('a chunk is one snapshot, whatever is written or compacted between its two looks', async () => {
  const stored = await Promise.all(Array.from({ length: 8 }, (_, i) => store.write(createOf(model, sampleObject(`o-${i}`)))));
  const table = await new TableCatalog(database.pool).get(resourceOf(model));
  const counter = new ObjectCounter(database.pool, store.changes);
  const bounds = new MatchBounds(store.changes);
  const reader = (pool: Pool): ChunkReader => new ChunkReader({ pool, counter, bounds });
  const first = await reader(database.pool).read(table, { ...nothing, limit: 3 });
  await update(stored[3]!, { changed: 'before' });

  const writing = reader(interrupted(database.pool, async () => void (await update(stored[4]!, { changed: 'between' }))));
  const second = await writing.read(table, { ...nothing, limit: 10, after: first.next! });
  expect(second.items.map(({ name, body }) => [name, body.includes('changed')])).toEqual([3, 4, 5, 6, 7].map((i) => [`o-${i}`, false]));

  const compacting = reader(interrupted(database.pool, () => store.compact({ minAge: 0, maxSize: 0, claimAge: 0 })));
  await expect(compacting.read(table, { ...nothing, limit: 10, after: first.next! })).rejects.toMatchObject({ code: 'Compacted' });
  bounds.close();
  counter.close();
});

test('the cursor is a revision that every other process comes to know: never one that was drawn for a write that failed', async () => {
  await store.write(createOf(model, sampleObject('taken')));
  await expect(store.write(createOf(model, sampleObject('taken')))).rejects.toMatchObject({ code: 'AlreadyExists' });
  expect(store.changes.cursor).toBe(await store.changes.catchUp());
  const told: Change[] = [];
  const unsubscribe = store.changes.subscribe((changes) => told.push(...changes));
  const next = await store.write(createOf(model, sampleObject('next')));
  unsubscribe();
  expect(told.map(({ revision }) => revision)).toEqual([next.revision]);
});

test('a reader that has lost changes to compaction says so, and tells no more', async () => {
  const told: Change[] = [];
  await store.changes.catchUp();
  store.changes.subscribe((changes) => told.push(...changes));
  await database.pool.query(
    `WITH gone AS (SELECT nextval('platform.revision') AS rev), kept AS (INSERT INTO platform.change_log (rev, size, model, type, namespace, name, new)
       SELECT nextval('platform.revision'), 2, 1, 'C', '', 'late', '{}' FROM gone)
     UPDATE platform.meta SET compacted = gone.rev FROM gone`,
  );
  await store.rewound;
  expect(told).toEqual([]);
  // Nobody waits for what will not come.
  await expect(store.changes.catchUp()).rejects.toMatchObject({ code: 'Unavailable' });
  expect(await store.changes.waitFor(Number.MAX_SAFE_INTEGER, 60_000)).toBe(false);
});
