import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { JsonObject } from '#pkg/apimachinery/index';
import { Database, silentLog } from '#pkg/database/index';
import { createTestDatabase, type TestDatabase } from '../../../testenv/test-database.ts';
import { decodeBody, splitManagedFields, withManagedFields } from '../../body.ts';
import { createOf, resourceOf, sampleModel, sampleObject, updateOf } from '../../storetest/sample-model.ts';
import type { StoredObject, Write } from '../../store.ts';
import { PostgresStore } from '../postgres-store.ts';
import { addManagedColumn, tablesWithoutManaged } from './managed-column.ts';

const model = sampleModel('older', { indexes: [] });
const resource = resourceOf(model);
const everything = { selector: { labels: [], fields: [] }, sort: [] };
let testDatabase: TestDatabase;
let database: Database;
let store: PostgresStore;
let id: number;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await Database.connect({ connection: testDatabase.connection, log: silentLog });
  store = await PostgresStore.open({ database, log: silentLog });
  await store.ensureModel(model);
  const { rows } = await database.pool.query<{ id: number }>("SELECT id FROM platform.models WHERE resource = 'older'");
  id = rows[0]!.id;
});

afterAll(async () => {
  await store.close();
  await database.close();
  await testDatabase.drop();
});

/** Makes the table one that the previous release creates. */
async function removeColumn(): Promise<void> {
  await database.pool.query(`ALTER TABLE platform.m_${id} DROP COLUMN managed`);
  await database.pool.query('UPDATE platform.models SET has_managed = false, shape = shape + 1 WHERE id = $1', [id]);
}

const managersOf = ({ body, revision, managed }: StoredObject): unknown[] | undefined =>
  decodeBody(body, revision, managed).metadata.managedFields?.map(({ manager }) => manager);

function managedBy(from: StoredObject, manager: string): Write {
  const write = updateOf(model, from, {});
  write.object.metadata.managedFields = [{ manager }];
  return write;
}

const created = (name: string, managedFields?: JsonObject[]): Promise<StoredObject> =>
  store.write(createOf(model, sampleObject(name, managedFields === undefined ? {} : { managedFields })));

test('a table of the previous release keeps them in the body, until it has the column', async () => {
  await store.close();
  await removeColumn();
  // Its lock keeps the start from adding the column.
  const holder = await database.pool.connect();
  await holder.query('BEGIN');
  await holder.query(`LOCK TABLE platform.m_${id} IN ROW SHARE MODE`);
  store = await PostgresStore.open({ database, log: silentLog });
  const a = await created('a', [{ manager: 'one' }]);
  expect(a).toMatchObject({ managed: undefined, body: expect.stringContaining('"managedFields":[{"manager":"one"}]') });
  const read = (await store.get(resource, a))!;
  expect(read).toEqual(a);
  expect((await store.chunk(resource, { ...everything, limit: 10 })).items).toEqual([a]);
  expect(await addManagedColumn(database.pool, id)).toBe(false);
  await holder.query('ROLLBACK');
  holder.release();

  expect(await addManagedColumn(database.pool, id)).toBe(true);
  // This store does not know yet: a write that was computed without the column must be computed again.
  await expect(store.write(managedBy(read, 'two'))).rejects.toMatchObject({ code: 'Conflict' });
  const again = (await store.get(resource, a))!;
  expect(managersOf(again)).toEqual(['one']);
  const changed = await store.write(managedBy(again, 'two'));
  expect(changed).toMatchObject({ managed: '[{"manager":"two"}]', body: expect.not.stringContaining('managedFields') });
  expect(managersOf((await store.get(resource, a))!)).toEqual(['two']);
});

test('the start adds the column, and so does the first use of a table that the previous release has created since', async () => {
  await store.close();
  await removeColumn();
  store = await PostgresStore.open({ database, log: silentLog });
  while ((await tablesWithoutManaged(database.pool)).length > 0) await new Promise(setImmediate);
  await removeColumn();
  await expect(store.ensureModel(model)).resolves.toBeUndefined();
  // This store knows the column some time after the database has it.
  const isKnown = async (): Promise<boolean> =>
    (await store.get(resource, { namespace: '', name: 'a' }))!.managed !== undefined;
  while (!(await isKnown())) await new Promise(setImmediate);
  expect(await tablesWithoutManaged(database.pool)).toEqual([]);
});

test('those in a body that the previous release has written count, not those of the column', async () => {
  const object = await created('rewritten', [{ manager: 'stale' }]);
  const body = withManagedFields(object.body, '[{"manager":"sent"}]');
  await database.pool.query(`UPDATE platform.m_${id} SET body = $1 WHERE name = 'rewritten'`, [body]);
  const read = (await store.get(resource, object))!;
  expect(managersOf(read)).toEqual(['sent']);
  expect(splitManagedFields(read)).toEqual({ body: object.body, managed: '[{"manager":"sent"}]' });
  const changed = await store.write(updateOf(model, read, { by: 'this release' }));
  expect(changed).toMatchObject({
    managed: '[{"manager":"sent"}]',
    body: expect.not.stringContaining('managedFields'),
  });
});

test('a field of the same name elsewhere in the body does not hide them', async () => {
  const object = await store.write(
    createOf(model, sampleObject('field', { spec: { managedFields: ['x'] }, managedFields: [{ manager: 'one' }] })),
  );
  expect(splitManagedFields(object)).toEqual({ body: object.body, managed: '[{"manager":"one"}]' });
});
