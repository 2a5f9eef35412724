import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parseFieldSelector } from '#pkg/apimachinery/index';
import { Database, silentLog } from '#pkg/database/index';
import { createTestDatabase, type TestDatabase } from '../../../testenv/test-database.ts';
import type { IndexBuildProgress, IndexState } from '../../store.ts';
import { sampleKeyEvaluator } from '../../storetest/sample-key-evaluator.ts';
import {
  computedModel,
  createOf,
  resourceOf,
  sampleModel,
  sampleObject,
  widgetIndexes,
  type StoreModel,
} from '../../storetest/sample-model.ts';
import { PostgresStore } from '../postgres-store.ts';

const model = sampleModel('indexed', { indexes: [] });
const resource = resourceOf(model);
const { slug, owner, tags } = widgetIndexes;
let testDatabase: TestDatabase;
let database: Database;
let store: PostgresStore;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await Database.connect({ connection: testDatabase.connection, log: silentLog });
  store = await PostgresStore.open({ database, log: silentLog, keyEvaluator: sampleKeyEvaluator });
  await store.ensureModel(model);
  const write = (i: number) =>
    store.write(
      createOf(
        model,
        sampleObject(`o-${i}`, {
          spec: {
            slug: `s${i}`,
            owner: i % 2 === 0 ? 'even' : 'odd',
            tags: [`t${i % 3}`],
            text: 'x'.repeat(i % 50 === 0 ? 500_000 : 10),
          },
        }),
      ),
    );
  await Promise.all(Array.from({ length: 600 }, (_, i) => write(i)));
});

afterAll(async () => {
  await store.close();
  await database.close();
  await testDatabase.drop();
});

async function settled(of: PostgresStore, indexed: StoreModel = model): Promise<IndexState[]> {
  for (;;) {
    const states = await of.indexStates(resourceOf(indexed));
    if (states.every(({ state }) => state !== 'building')) return states;
    await new Promise(setImmediate);
  }
}

async function total(field: string): Promise<number> {
  const selector = { labels: [], fields: parseFieldSelector([field], [slug, owner, tags]) };
  return (await store.page(resource, { selector, sort: [], page: 1, size: 1, exactTotal: true, exactTotalLimit: 10 }))
    .total;
}

test('indexes are built for existing data of any size, also if their sessions are terminated', async () => {
  await store.ensureModel(sampleModel('indexed', { indexes: [slug, owner, tags] }));
  // The session that holds the lock of a build loses it, and the next round continues.
  const { rowCount } = await database.pool.query(
    "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND classid = 817 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
  );
  expect(rowCount).not.toBeNull();
  expect(await settled(store)).toEqual([slug, owner, tags].map(({ name }) => ({ name, state: 'ready' })));
  expect([await total('spec.owner=even'), await total('spec.slug=s77'), await total('spec.tags=t1')]).toEqual([
    300, 1, 200,
  ]);
});

test('an index that was complete when its builder died is kept, and an incomplete one is rebuilt', async () => {
  const { rows } = await database.pool.query<{ id: number }>(
    "SELECT id FROM platform.models WHERE resource = 'indexed'",
  );
  const names = [`m_${rows[0]!.id}_i_1`, `m_${rows[0]!.id}_i_2`];
  const oids = async (): Promise<unknown[]> =>
    (
      await database.pool.query(
        'SELECT c.oid FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid WHERE relname = ANY ($1) AND indisvalid ORDER BY relname',
        [names],
      )
    ).rows.map((row: { oid: unknown }) => row.oid);
  const before = await oids();
  await database.pool.query(
    `UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'platform.${names[1]}'::regclass`,
  );
  await database.pool.query(
    "UPDATE platform.models SET columns = replace(columns::text, '\"ready\"', '\"building\"')::jsonb, shape = shape + 1 WHERE resource = 'indexed'",
  );
  await settled(store);
  const after = await oids();
  expect(after[0]).toEqual(before[0]);
  expect(after[1]).not.toEqual(before[1]);
});

/** The model's functions after one edit of their script. */
function edited(edit: number): StoreModel {
  const result = `(o) => 'v' + (o.spec.n + ${edit})`;
  return computedModel('edited', { one: result, several: `(o) => [(${result})(o)]` }, [
    { name: 'one', key: 'one', unique: true },
    { name: 'several', key: 'several', multi: true },
  ]);
}

async function found(of: StoreModel, field: string): Promise<string[]> {
  const { items } = await store.page(resourceOf(of), {
    selector: { labels: [], fields: parseFieldSelector([field], of.indexes) },
    sort: [],
    page: 1,
    size: 10,
    exactTotal: false,
    exactTotalLimit: 10,
  });
  return items.map(({ name }) => name);
}

test('a script can change any number of times: its keys are recomputed in the existing columns', async () => {
  const first = edited(0);
  await store.ensureModel(first);
  for (const n of [1, 2, 3]) await store.write(createOf(first, sampleObject(`o-${n}`, { spec: { n } })));
  for (const edit of [1, 2, 3]) {
    await store.ensureModel(edited(edit));
    expect((await settled(store, edited(edit))).map(({ state }) => state)).toEqual(['ready', 'ready']);
    expect([await found(edited(edit), `one=v${edit + 1}`), await found(edited(edit), `several=v${edit + 2}`)]).toEqual([
      ['o-1'],
      ['o-2'],
    ]);
  }
  const { rows } = await database.pool.query(
    "SELECT attname FROM pg_attribute JOIN platform.models ON attrelid = ('platform.m_' || id)::regclass WHERE resource = 'edited' AND (attisdropped OR attname LIKE 'i\\_%') ORDER BY attname",
  );
  expect(rows).toEqual([{ attname: 'i_7' }, { attname: 'i_8' }]);
});

test('while keys are recomputed, the previous keys are not found and cause no conflicts', async () => {
  const fourth = edited(4);
  const builder = await database.pool.connect();
  try {
    await builder.query("SELECT pg_advisory_lock(817, id) FROM platform.models WHERE resource = 'edited'");
    await store.ensureModel(fourth);
    await expect(found(fourth, 'one=v5')).rejects.toMatchObject({ code: 'IndexNotReady' });
    await expect(found(edited(3), 'one=v4')).rejects.toMatchObject({ code: 'IndexNotReady' });
    // Its key equals another object's old key.
    const object = sampleObject('o-0', { spec: { n: 0 } });
    await store.write(createOf(fourth, object), { dryRun: true });
    await store.write(createOf(fourth, object));
  } finally {
    await builder.query('SELECT pg_advisory_unlock_all()');
    builder.release();
  }
  await settled(store, fourth);
  expect(await found(fourth, 'one>=v0')).toEqual(['o-0', 'o-1', 'o-2', 'o-3']);
  await expect(store.write(createOf(fourth, sampleObject('o-9', { spec: { n: 3 } })))).rejects.toMatchObject({
    code: 'UniqueClash',
    index: 'one',
  });
});

/** Waits until the index is being built as `isReached` says, and returns its progress. */
async function progressOf(
  indexed: StoreModel,
  isReached: (progress: IndexBuildProgress) => boolean,
): Promise<IndexBuildProgress> {
  for (;;) {
    const states = await store.indexStates(resourceOf(indexed));
    const reached = states.find(({ progress }) => progress !== undefined && isReached(progress));
    if (reached !== undefined) return reached.progress!;
    if (states.every(({ state }) => state !== 'building')) throw new Error(`not reached: ${JSON.stringify(states)}`);
    await new Promise(setImmediate);
  }
}

describe('while an index is built, its state has the progress', () => {
  const computed = (edit: number): StoreModel =>
    computedModel('counted', { one: `(o) => 'v' + (o.spec.n + ${edit})` }, [{ name: 'one', key: 'one' }]);
  const { rank } = widgetIndexes;

  test.each([
    ['an index on a field', sampleModel('filled', { indexes: [] }), sampleModel('filled', { indexes: [rank] })],
    ['a computed index', computed(0), computed(1)],
  ])('of filling the column of %s', async (_reason, before, after) => {
    await store.ensureModel(before);
    const names = Array.from({ length: 600 }, (_, i) => `o-${i}`).toSorted();
    await Promise.all(
      names.map((name, n) => store.write(createOf(before, sampleObject(name, { spec: { rank: n, n } })))),
    );
    const { rows } = await database.pool.query<{ id: number }>('SELECT id FROM platform.models WHERE resource = $1', [
      resourceOf(before).resource,
    ]);
    const { id } = rows[0]!;
    await database.pool.query(`ANALYZE platform.m_${id}`);
    const other = await PostgresStore.open({ database, log: silentLog, keyEvaluator: sampleKeyEvaluator });
    const builder = await database.pool.connect();
    const writer = await database.pool.connect();
    try {
      await builder.query(`SELECT pg_advisory_lock(817, ${id})`);
      await store.ensureModel(after);
      // The third step of 200 rows waits for this transaction.
      await writer.query(`BEGIN; SELECT FROM platform.m_${id} WHERE name = '${names[500]}' FOR UPDATE`);
      await builder.query('SELECT pg_advisory_unlock_all()');
      const { phase, done } = await progressOf(after, (progress) => (progress.done ?? 0) > 0.5);
      expect([phase, done]).toEqual(['filling its column', expect.closeTo(400 / 600, 1)]);
      const states = await other.indexStates(resourceOf(after));
      expect(states).toEqual([{ name: after.indexes[0]!.name, state: 'building' }]);
    } finally {
      for (const client of [builder, writer]) {
        await client.query('ROLLBACK; SELECT pg_advisory_unlock_all()');
        client.release();
      }
      await other.close();
    }
    expect(await settled(store, after)).toEqual([{ name: after.indexes[0]!.name, state: 'ready' }]);
  });

  test.each([
    ['writers before build', (id: number) => `BEGIN; LOCK TABLE platform.m_${id} IN ROW EXCLUSIVE MODE`, 1],
    // A read of this process at that moment is counted too.
    ['old snapshots', () => 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1', expect.any(Number)],
  ])('of waiting for %s, with the pid of the transaction', async (what, statement, transactions) => {
    const before = sampleModel('waiting', { indexes: [] });
    const after = sampleModel('waiting', { indexes: [rank] });
    await store.ensureModel(before);
    await store.write(createOf(before, sampleObject(`o-${what.replaceAll(' ', '-')}`, { spec: { rank: 1 } })));
    const { rows } = await database.pool.query<{ id: number }>(
      "SELECT id FROM platform.models WHERE resource = 'waiting'",
    );
    const { id } = rows[0]!;
    const builder = await database.pool.connect();
    const reader = await database.pool.connect();
    try {
      await builder.query(`SELECT pg_advisory_lock(817, ${id})`);
      await store.ensureModel(after);
      const { rows: pids } = await reader.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      await reader.query(statement(id));
      await builder.query('SELECT pg_advisory_unlock_all()');
      const { pid } = pids[0]!;
      expect(await progressOf(after, ({ waitsFor }) => waitsFor?.pid === pid)).toEqual({
        phase: `waiting for ${what}`,
        waitsFor: { transactions, pid },
      });
    } finally {
      for (const client of [builder, reader]) {
        await client.query('ROLLBACK; SELECT pg_advisory_unlock_all()');
        client.release();
      }
    }
    expect(await settled(store, after)).toEqual([{ name: rank.name, state: 'ready' }]);
    await store.ensureModel(before);
    await settled(store, before);
  });
});

test('a table that cannot have more columns reports it', async () => {
  const indexes = Array.from({ length: 1600 }, (_, i) => ({ ...owner, name: `x${i}` }));
  await expect(store.ensureModel(sampleModel('wide', { indexes }))).rejects.toMatchObject({
    code: 'InvalidKey',
    causes: [{ message: expect.stringMatching(/takes no more columns/) }],
  });
});
