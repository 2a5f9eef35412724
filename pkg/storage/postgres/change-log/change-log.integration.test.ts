import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { Pool, QueryResult } from 'pg';
import { parseSort, builtinIndexes } from '#pkg/apimachinery/index';
import { Database, Notifications, silentLog } from '#pkg/database/index';
import { createTestDatabase, type TestDatabase } from '../../../testenv/test-database.ts';
import { decodeBody } from '../../body.ts';
import type { Change } from '../../change.ts';
import type { StoredObject } from '../../store.ts';
import { createOf, resourceOf, sampleModel, sampleObject } from '../../storetest/sample-model.ts';
import { ChangeLog } from './change-log.ts';
import { LargeReads } from '../connection/large-reads.ts';
import { ChunkReader } from '../list/chunk-reader.ts';
import { MatchBounds } from '../list/match-bounds.ts';
import { ObjectCounter } from '../list/object-counter.ts';
import { ReplicaPresence } from '../connection/replica-presence.ts';
import { PostgresStore } from '../postgres-store.ts';
import { TableCatalog } from '../table/table-catalog.ts';

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

/** The real pool, but runs `between` before each statement after the first. */
function interrupted(pool: Pool, between: () => Promise<void>): Pool {
  let statements = 0;
  return delayed(pool, async () => {
    statements += 1;
    if (statements > 1) await between();
  });
}

/** The real pool, but runs `before` before each statement. */
function delayed(pool: Pool, before: () => Promise<void>): Pool {
  const query = async (...args: unknown[]): Promise<QueryResult> => {
    await before();
    return (pool.query as unknown as (...all: unknown[]) => Promise<QueryResult>).apply(pool, args);
  };
  return Object.assign(Object.create(pool) as Pool, { query });
}

/** Opens another replica's reader of the log. */
async function openLog(pool: Pool = database.pool): Promise<{ log: ChangeLog; stop: () => Promise<void> }> {
  const notifications = new Notifications({ database, log: silentLog });
  await notifications.start();
  const replicas = new ReplicaPresence({ pool: database.pool, notifications, origin: randomUUID(), log: silentLog });
  const log = new ChangeLog({
    pool,
    notifications,
    catalog: new TableCatalog(database.pool),
    replicas,
    large: new LargeReads(1),
    log: silentLog,
    ownsFiles: false,
    onGap: () => undefined,
  });
  await log.start();
  return {
    log,
    stop: async () => {
      await log.stop();
      await notifications.stop();
    },
  };
}

/** Draws a revision that no row uses. */
async function failToWrite(name: string): Promise<void> {
  await expect(store.write(createOf(model, sampleObject(name)))).rejects.toMatchObject({ code: 'AlreadyExists' });
}

async function update(from: StoredObject, spec: Record<string, string>): Promise<StoredObject> {
  return store.write({
    type: 'update',
    resource: resourceOf(model),
    object: { ...decodeBody(from.body, from.revision), spec },
    fingerprint: 'f1',
    from,
  });
}

test('a chunk is one snapshot, whatever is written or compacted between its two queries', async () => {
  const stored = await Promise.all(
    Array.from({ length: 8 }, (_, i) => store.write(createOf(model, sampleObject(`o-${i}`)))),
  );
  const table = await new TableCatalog(database.pool).get(resourceOf(model));
  const counter = new ObjectCounter(database.pool, store.changes);
  const bounds = new MatchBounds(store.changes);
  const reader = (pool: Pool): ChunkReader => new ChunkReader({ pool, counter, bounds, large: new LargeReads(1) });
  const first = await reader(database.pool).read(table, { ...nothing, limit: 3 });
  await update(stored[3]!, { changed: 'before' });

  const writing = reader(
    interrupted(database.pool, async () => void (await update(stored[4]!, { changed: 'between' }))),
  );
  const second = await writing.read(table, { ...nothing, limit: 10, after: first.next! });
  expect(second.items.map(({ name, body }) => [name, body.includes('changed')])).toEqual(
    [3, 4, 5, 6, 7].map((i) => [`o-${i}`, false]),
  );

  const compacting = reader(
    interrupted(database.pool, () => store.compact({ minAgeMs: 0, maxSizeBytes: 0, idempotencyKeyAgeMs: 0 })),
  );
  await expect(compacting.read(table, { ...nothing, limit: 10, after: first.next! })).rejects.toMatchObject({
    code: 'Compacted',
  });
  bounds.close();
  counter.close();
});

test('the cursor is a revision that every other process will see: never one of a failed write', async () => {
  await store.write(createOf(model, sampleObject('taken')));
  await expect(store.write(createOf(model, sampleObject('taken')))).rejects.toMatchObject({ code: 'AlreadyExists' });
  expect(store.changes.cursor).toBe(await store.changes.catchUp());
  const told: Change[] = [];
  const unsubscribe = store.changes.subscribe((changes) => told.push(...changes));
  const next = await store.write(createOf(model, sampleObject('next')));
  unsubscribe();
  expect(told.map(({ revision }) => revision)).toEqual([next.revision]);
});

test('a sorted chunk is ordered by columns: it reads no bodies of unchanged rows', async () => {
  const sort = parseSort(['metadata.creationTimestamp,desc', 'metadata.namespace'], builtinIndexes);
  const selector = { labels: [{ key: 'sorted', operator: 'Exists' as const }], fields: [] };
  const days = Array.from({ length: 9 }, (_, i) => `2026-04-0${9 - i}T00:00:00Z`);
  const stored = await Promise.all(
    days.map((created, i) =>
      store.write(createOf(model, sampleObject(`sorted-${i}`, { created, labels: { sorted: '' } }))),
    ),
  );
  const first = await store.chunk(resourceOf(model), { selector, sort, limit: 2 });
  await update(stored[4]!, { changed: 'yes' });
  const { id } = await new TableCatalog(database.pool).get(resourceOf(model));
  await database.pool.query(`UPDATE platform.m_${id} SET body = 'none' WHERE name = 'sorted-3' OR name = 'sorted-5'`);
  const second = await store.chunk(resourceOf(model), { selector, sort, limit: 4, after: first.next! });
  const third = await store.chunk(resourceOf(model), { selector, sort, limit: 4, after: second.next! });
  expect([first, second, third].map(({ items }) => items.map(({ name }) => name))).toEqual(
    [
      [0, 1],
      [2, 3, 4, 5],
      [6, 7, 8],
    ].map((chunk) => chunk.map((i) => `sorted-${i}`)),
  );
  expect(third.next).toBeUndefined();
});

test('a reader that is up to date loses nothing to compaction, also if the last revisions are of failed writes', async () => {
  await store.write(createOf(model, sampleObject('last')));
  let answerable = Promise.resolve();
  const { log, stop } = await openLog(delayed(database.pool, () => answerable));
  const at = await log.catchUp();
  await failToWrite('last');
  let open = (): void => {};
  answerable = new Promise((resolve) => (open = resolve));
  const next = await store.write(createOf(model, sampleObject('next-after-last')));
  await store.compact({ minAgeMs: 0, maxSizeBytes: 1e12, idempotencyKeyAgeMs: 0 });
  open();
  expect(await log.catchUp()).toBe(next.revision);
  expect((await store.changes.read(resourceOf(model), at)).changes.map(({ revision }) => revision)).toEqual([
    next.revision,
  ]);
  await stop();
});

test('history that was declared void is delivered as long as it exists', async () => {
  const { log, stop } = await openLog();
  const told: string[] = [];
  log.subscribe((changes) => told.push(...changes.map(({ name }) => name)));
  const newest = await insertLate('one', 'compacted = kept.rev');
  expect(await log.catchUp()).toBe(newest);
  expect(told).toEqual(['one']);
  await stop();
});

test('a reader detects that its changes were compacted, even if an idempotency key keeps the last row that it read', async () => {
  const { log, stop } = await openLog();
  await database.pool.query(
    "INSERT INTO platform.idempotency_keys (username, method, path, key, body_hash, rev) SELECT 'u', 'POST', '/', 'spared', 'h', max(rev) FROM platform.change_log",
  );
  await insertLate('two', 'compacted = kept.rev - 1');
  expect(await log.rewound).toBe('void');
  await stop();
});

/** Inserts a change of another process after an unused revision, and changes `meta` in the same statement. */
async function insertLate(name: string, meta: string): Promise<number> {
  const { rows } = await database.pool.query<{ rev: string }>(
    `WITH kept AS (INSERT INTO platform.change_log (rev, size, model, type, namespace, name, new)
       SELECT nextval('platform.revision'), 2, 1, 'C', '', $1, '{}' FROM (SELECT nextval('platform.revision')) gone RETURNING rev)
     UPDATE platform.meta SET ${meta} FROM kept RETURNING kept.rev`,
    [name],
  );
  return Number(rows[0]!.rev);
}

test('a reader that lost changes to compaction reports it and delivers no more', async () => {
  // A new reader: earlier tests have declared history void under the others.
  const { log, stop } = await openLog();
  const told: Change[] = [];
  await log.catchUp();
  log.subscribe((changes) => told.push(...changes));
  await database.pool.query(
    `WITH gone AS (SELECT nextval('platform.revision') AS rev), kept AS (INSERT INTO platform.change_log (rev, size, model, type, namespace, name, new)
       SELECT nextval('platform.revision'), 2, 1, 'C', '', 'late', '{}' FROM gone),
       removed AS (DELETE FROM platform.change_log)
     UPDATE platform.meta SET compacted = gone.rev FROM gone`,
  );
  expect(await log.rewound).toBe('void');
  expect(told).toEqual([]);
  // No caller waits for changes that will never arrive.
  await expect(log.catchUp()).rejects.toMatchObject({ code: 'Unavailable' });
  expect(await log.waitFor(Number.MAX_SAFE_INTEGER, 60_000)).toBe(false);
  await stop();
});
