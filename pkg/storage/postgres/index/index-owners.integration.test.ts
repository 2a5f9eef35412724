import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { builtinIndexes, parseFieldSelector, type ApiObject } from '#pkg/apimachinery/index';
import { Database, silentLog } from '#pkg/database/index';
import { createTestDatabase, type TestDatabase } from '../../../testenv/test-database.ts';
import { isStorageError } from '../../storage-error.ts';
import { createOf, resourceOf, sampleModel, sampleObject } from '../../storetest/sample-model.ts';
import { ownerElements } from '../table/owner-elements.ts';
import { PostgresStore } from '../postgres-store.ts';

const model = sampleModel('owned', { namespaced: true, indexes: [] });
const resource = resourceOf(model);
let testDatabase: TestDatabase;
let database: Database;
let store: PostgresStore;
let table: string;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await Database.connect({ connection: testDatabase.connection, log: silentLog });
  store = await PostgresStore.open({ database, log: silentLog });
  await store.ensureModel(model);
  const { rows } = await database.pool.query<{ id: number }>("SELECT id FROM platform.models WHERE resource = 'owned'");
  table = `platform.m_${rows[0]!.id}`;
});

afterAll(async () => {
  await store.close();
  await database.close();
  await testDatabase.drop();
});

/** Waits while the index is being built. */
async function owned(by: string): Promise<string[]> {
  for (;;) {
    try {
      const fields = parseFieldSelector([`metadata.ownerReferences.uid=${by}`], builtinIndexes);
      const { items } = await store.chunk(resource, { selector: { labels: [], fields }, sort: [], limit: 2000 });
      return items.map(({ name }) => name);
    } catch (error) {
      if (!isStorageError(error, 'IndexNotReady')) throw error;
      await new Promise(setImmediate);
    }
  }
}

/** Writes like the previous release, which does not know owners. */
async function writeAsBefore(object: ApiObject): Promise<void> {
  const { name, namespace = '' } = object.metadata;
  await database.pool.query(
    `INSERT INTO ${table} (namespace, name, rev, uid, created, labels, fingerprint, body) VALUES ($1, $2, nextval('platform.revision'), gen_random_uuid(), now(), $3, 'f1', $4)
       ON CONFLICT (namespace, name) DO UPDATE SET labels = excluded.labels, body = excluded.body`,
    [namespace, name, [`/${namespace}`], JSON.stringify(object)],
  );
}

const objectOf = (i: number): ApiObject =>
  sampleObject(`o-${String(i).padStart(4, '0')}`, {
    namespace: 'n',
    ...(i % 2 === 0 ? { owners: [`u${i % 10}`, 'all'] } : {}),
    spec: { ownerReferences: [{ uid: 'no' }] },
  });

test('objects of the previous release are found by their owners after the start, and those that it still writes at once', async () => {
  await database.pool.query(`DROP TRIGGER owners ON ${table}`);
  for (let i = 0; i < 1100; i += 1) await writeAsBefore(objectOf(i));
  // A table created by that release lacks the index, too.
  await database.pool.query('UPDATE platform.models SET owners_indexed = false');
  await store.close();
  store = await PostgresStore.open({ database, log: silentLog });
  expect((await owned('all')).length).toBe(550);
  expect((await owned('u4')).length).toBe(110);
  expect(await owned('no')).toEqual([]);

  await writeAsBefore(sampleObject('late', { namespace: 'n', owners: ['u4'] }));
  await writeAsBefore(sampleObject('o-0004', { namespace: 'n', owners: ['u5'] }));
  expect((await owned('u4')).length).toBe(110);
  expect(await owned('u5')).toEqual(['o-0004']);
});

test('the index is built at the first query if it has not been started', async () => {
  await database.pool.query('UPDATE platform.models SET owners_indexed = false');
  await store.ensureModel(sampleModel('another', { indexes: [] }));
  await database.pool.query(`UPDATE ${table} SET labels = '{/n}' WHERE name = 'late'`);
  expect(await owned('u5')).toEqual(['o-0004']);
});

test.each([
  ['none', []],
  ['several, one of them twice', ['b', 'a', 'b']],
  ['text that needs quotes', ['a"b\\c{},', "it's", '\u{1f600}']],
])('the program and the database find the same owners: %s', async (_, owners) => {
  const object = sampleObject('same', { owners, spec: { text: '"ownerReferences":[' } });
  const { rows } = await database.pool.query<{ elements: string[] }>('SELECT platform.owner_elements($1) AS elements', [
    JSON.stringify(object),
  ]);
  expect(rows[0]!.elements.toSorted()).toEqual(ownerElements(object).toSorted());
});

test('a uid that no index could hold is no owner', async () => {
  const object = sampleObject('long', { owners: ['x'.repeat(1025), 'y'] });
  expect(ownerElements(object)).toEqual(['@', '@=y']);
  const { rows } = await database.pool.query<{ elements: string[] }>('SELECT platform.owner_elements($1) AS elements', [
    JSON.stringify(object),
  ]);
  expect(rows[0]!.elements.toSorted()).toEqual(['@', '@=y']);
});

test('an object that this release writes is found without the trigger', async () => {
  await database.pool.query(`ALTER TABLE ${table} DISABLE TRIGGER owners`);
  const bare = sampleModel('bare', { indexes: [] });
  await store.ensureModel(bare);
  await store.write(createOf(bare, sampleObject('a', { owners: ['x'] })));
  const fields = parseFieldSelector(['metadata.ownerReferences.uid=x'], builtinIndexes);
  expect(
    (await store.chunk(resourceOf(bare), { selector: { labels: [], fields }, sort: [], limit: 10 })).items,
  ).toHaveLength(1);
  await database.pool.query(`ALTER TABLE ${table} ENABLE TRIGGER owners`);
});
