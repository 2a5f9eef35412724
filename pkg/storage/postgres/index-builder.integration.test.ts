import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parseFieldSelector } from '#pkg/apimachinery/index';
import { Database, silentLog } from '#pkg/database/index';
import { createTestDatabase, type TestDatabase } from '../../testenv/test-database.ts';
import type { IndexState } from '../store.ts';
import { createOf, resourceOf, sampleModel, sampleObject, widgetIndexes } from '../storetest/sample-model.ts';
import { PostgresStore } from './postgres-store.ts';

const model = sampleModel('indexed', { indexes: [] });
const resource = resourceOf(model);
const { slug, owner, tags } = widgetIndexes;
let testDatabase: TestDatabase;
let database: Database;
let store: PostgresStore;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await Database.connect({ connection: testDatabase.connection, log: silentLog });
  store = await PostgresStore.open({ database, log: silentLog });
  await store.ensureModel(model);
  const write = (i: number) => store.write(createOf(model, sampleObject(`o-${i}`, { spec: { slug: `s${i}`, owner: i % 2 === 0 ? 'even' : 'odd', tags: [`t${i % 3}`], text: 'x'.repeat(i % 50 === 0 ? 500_000 : 10) } })));
  await Promise.all(Array.from({ length: 600 }, (_, i) => write(i)));
});

afterAll(async () => {
  await store.close();
  await database.close();
  await testDatabase.drop();
});

async function settled(of: PostgresStore): Promise<IndexState[]> {
  for (;;) {
    const states = await of.indexStates(resource);
    if (states.every(({ state }) => state !== 'building')) return states;
    await new Promise(setImmediate);
  }
}

async function total(field: string): Promise<number> {
  const selector = { labels: [], fields: parseFieldSelector([field], [slug, owner, tags]) };
  return (await store.page(resource, { selector, sort: [], page: 1, size: 1, exactTotal: true, exactTotalLimit: 10 })).total;
}

test('indexes are brought to what is there, whatever size it is of, also where their sessions are ended', async () => {
  await store.ensureModel(sampleModel('indexed', { indexes: [slug, owner, tags] }));
  // Who holds the lock of a build loses it, and the next round goes on.
  const { rowCount } = await database.pool.query("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND classid = 817 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())");
  expect(rowCount).not.toBeNull();
  expect(await settled(store)).toEqual([slug, owner, tags].map(({ name }) => ({ name, state: 'ready' })));
  expect([await total('spec.owner=even'), await total('spec.slug=s77'), await total('spec.tags=t1')]).toEqual([300, 1, 200]);
});

test('an index that was finished when its builder died is kept, and one that was cut off is made anew', async () => {
  const { rows } = await database.pool.query<{ id: number }>("SELECT id FROM platform.models WHERE resource = 'indexed'");
  const names = [`m_${rows[0]!.id}_i_1`, `m_${rows[0]!.id}_i_2`];
  const oids = async (): Promise<unknown[]> =>
    (await database.pool.query("SELECT c.oid FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid WHERE relname = ANY ($1) AND indisvalid ORDER BY relname", [names])).rows.map((row: { oid: unknown }) => row.oid);
  const before = await oids();
  await database.pool.query(`UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'platform.${names[1]}'::regclass`);
  await database.pool.query("UPDATE platform.models SET columns = replace(columns::text, '\"ready\"', '\"building\"')::jsonb, shape = shape + 1 WHERE resource = 'indexed'");
  await settled(store);
  const after = await oids();
  expect(after[0]).toEqual(before[0]);
  expect(after[1]).not.toEqual(before[1]);
});
