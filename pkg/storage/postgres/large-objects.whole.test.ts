import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { parseSort } from '#pkg/apimachinery/index';
import { Database, silentLog } from '#pkg/database/index';
import { createTestDatabase, type TestDatabase } from '../../testenv/test-database.ts';
import { decodeBody } from '../body.ts';
import type { ChunkPosition, ChunkQuery, ObjectStream, StoredObject } from '../store.ts';
import { createOf, resourceOf, sampleModel, sampleObject, widgetIndexes } from '../storetest/sample-model.ts';
import { LargeReads } from './connection/large-reads.ts';
import { PageReader } from './list/page-reader.ts';
import { MatchBounds } from './list/match-bounds.ts';
import { ObjectCounter } from './list/object-counter.ts';
import { PostgresStore } from './postgres-store.ts';
import { Snapshots } from './list/snapshots.ts';
import { TableCatalog } from './table/table-catalog.ts';

const model = sampleModel('large', { indexes: [widgetIndexes.rank] });
const resource = resourceOf(model);
const count = 40;
const size = 512 * 1024;
const nothing = { selector: { labels: [], fields: [] }, sort: [] };
const byRank = { ...nothing, sort: parseSort(['spec.rank,desc'], model.indexes) };
const pageOfAll = { page: 1, size: count, exactTotal: false, exactTotalLimit: 10 };
let testDatabase: TestDatabase;
let database: Database;
let store: PostgresStore;
let stored: StoredObject[];

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await Database.connect({ connection: testDatabase.connection, log: silentLog });
  store = await PostgresStore.open({ database, log: silentLog });
  await store.ensureModel(model);
  // Small objects in between, so that earlier objects do not predict the next batch size.
  const objects = Array.from({ length: count }, (_, i) =>
    sampleObject(`o-${100 + i}`, { spec: { rank: i, text: 'x'.repeat(i % 5 === 0 ? 10 : size) } }),
  );
  stored = await Promise.all(objects.map((object) => store.write(createOf(model, object))));
});

afterAll(async () => {
  await store.close();
  await database.close();
  await testDatabase.drop();
});

/** A short form of the objects for the output of a failing test. */
function brief(objects: readonly StoredObject[]): string[] {
  return objects.map(
    ({ name, revision, body }) => `${name} ${revision} ${createHash('sha256').update(body).digest('hex')}`,
  );
}

async function readAll({ objects }: ObjectStream): Promise<StoredObject[]> {
  const read: StoredObject[] = [];
  for await (const batch of objects) {
    expect(batch.reduce((sum, { body }) => sum + body.length, 0)).toBeLessThan(3 * 1024 * 1024);
    read.push(...batch);
  }
  return read;
}

async function chunks(query: Omit<ChunkQuery, 'after'>, between?: () => Promise<unknown>): Promise<StoredObject[][]> {
  const read: StoredObject[][] = [];
  let after: ChunkPosition | undefined;
  do {
    const chunk = await store.chunk(resource, after === undefined ? query : { ...query, after });
    expect(chunk.items.reduce((sum, { body }) => sum + body.length, 0)).toBeLessThan(13 * 1024 * 1024);
    if (chunk.next !== undefined) expect(chunk.remaining).toBe(count - chunk.next.served);
    read.push(chunk.items);
    after = chunk.next;
    if (read.length === 1) await between?.();
  } while (after !== undefined);
  return read;
}

function rewrite(from: StoredObject): Promise<StoredObject> {
  const object = { ...decodeBody(from.body, from.revision) };
  return store.write({
    type: 'update',
    resource,
    object: { ...object, metadata: { ...object.metadata, labels: { seen: 'yes' } } },
    fingerprint: 'f1',
    from,
  });
}

describe('lists of large objects', () => {
  test.each([
    ['by name', nothing, false],
    ['by an index', byRank, true],
  ])('a page %s is complete, in parts', async (_, query, isReversed) => {
    const { items, rest, ...facts } = await store.page(resource, { ...query, ...pageOfAll });
    expect([items, facts]).toEqual([
      [],
      {
        revision: Math.max(...stored.map(({ revision }) => revision)),
        total: count,
        totalIsLowerBound: false,
        hasNext: false,
      },
    ]);
    const read = await readAll(rest!);
    expect(brief(read)).toEqual(brief(isReversed ? stored.toReversed() : stored));
    const part = await store.page(resource, { ...query, ...pageOfAll, page: 2, size: 35 });
    expect([part.hasNext, part.total]).toEqual([false, count]);
    expect(brief(part.items)).toEqual(brief(read.slice(35)));
    const first = await store.page(resource, { ...query, ...pageOfAll, size: 35 });
    expect(first.hasNext).toBe(true);
    expect(brief(await readAll(first.rest!))).toEqual(brief(read.slice(0, 35)));
  });

  test('a page whose total is not available holds no snapshot', async () => {
    const broken = database.newPool({ max: 1 });
    await broken.end();
    const snapshots = database.newPool({ max: 1 });
    const bounds = new MatchBounds(store.changes);
    const counter = new ObjectCounter(broken, store.changes);
    const pages = new PageReader({
      pool: database.pool,
      counter,
      bounds,
      snapshots: new Snapshots(snapshots),
      large: new LargeReads(1),
    });
    await expect(
      pages.read(await new TableCatalog(database.pool).get(resource), { ...nothing, ...pageOfAll }),
    ).rejects.toThrow();
    expect([snapshots.totalCount, snapshots.idleCount]).toEqual([1, 1]);
    counter.close();
    bounds.close();
  });

  test('a stream is complete, in parts', async () => {
    const stream = await store.stream(resource, { ...nothing, order: 'revision' });
    expect(brief(await readAll(stream))).toEqual(brief(stored.toSorted((a, b) => a.revision - b.revision)));
  });

  test.each([
    ['by name', nothing, false],
    ['by an index', byRank, true],
  ])('chunks %s have fewer objects than their limit', async (_, query, isReversed) => {
    const read = await chunks({ ...query, limit: 1000 });
    expect(read.length).toBeGreaterThan(1);
    expect(brief(read.flat())).toEqual(brief(isReversed ? stored.toReversed() : stored));
  });

  test('chunks are one snapshot, however much has changed since', async () => {
    const before = stored;
    const read = await chunks({ ...nothing, limit: 1000 }, async () => {
      stored = await Promise.all(stored.map(rewrite));
    });
    expect(brief(read.flat())).toEqual(brief(before));
  });

  test('a sorted list with too many changes since its snapshot starts again', async () => {
    const changing = chunks({ ...byRank, limit: 5 }, async () => {
      stored = await Promise.all(stored.map(rewrite).map(async (written) => rewrite(await written)));
    });
    await expect(changing).rejects.toMatchObject({ code: 'Compacted' });
  });

  test('one owner never has all the slots', async () => {
    const held: ObjectStream[] = [];
    const open = async (owner: string): Promise<ObjectStream> => {
      const stream = await store.stream(resource, {
        ...nothing,
        order: 'sort',
        readBudget: { owner, admit: async () => undefined, reportHeld: () => undefined },
      });
      held.push(stream);
      return stream;
    };
    await Promise.all(Array.from({ length: 6 }, () => open('greedy')));
    const waiting = open('greedy');
    await open('modest');
    await open('other');
    await held[0]!.close();
    await waiting;
    await Promise.all(held.map((stream) => stream.close()));
  });
});
