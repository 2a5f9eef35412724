import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Database, silentLog } from '#pkg/database/index';
import { createTestDatabase, type TestDatabase } from '../../../testenv/test-database.ts';
import { createOf, resourceOf, sampleModel, sampleObject } from '../../storetest/sample-model.ts';
import { leaseResource } from '../table/lease-fence.ts';
import { PostgresStore } from '../postgres-store.ts';
import { adoptRestored, modelTables, readHistory, rememberedChanges } from './restored-history.ts';

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

async function tablesOf(): Promise<Map<string, string[]>> {
  const { rows } = await database.pool.query<{ name: string; columns: string[] }>(
    `SELECT name, (SELECT array_agg(attname::text) FROM pg_attribute WHERE attrelid = ('platform.' || name)::regclass AND attnum > 0) AS columns FROM (${modelTables.select}) models`,
  );
  return new Map(rows.map(({ name, columns }) => [name, columns]));
}

/** Rolls back afterwards. */
async function adoptAfter(change: string, known = [{ revision: 5, epoch: 1 }]): Promise<string | undefined> {
  const client = await database.pool.connect();
  try {
    const tables = await tablesOf();
    await client.query(`BEGIN; ${change}`);
    return await adoptRestored(client, { known, tables });
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
}

test('an adopted history is after that of every known database, and its functions refer to its tables', async () => {
  const model = sampleModel('adopted');
  const first = await PostgresStore.open({ database, log: silentLog });
  for (const each of [model, { ...sampleModel(leaseResource.resource), group: leaseResource.group }])
    await first.ensureModel(each);
  const before = await first.write(createOf(model, sampleObject('before')), {
    idempotency: { user: 'mia', method: 'POST', path: '/', key: 'k', bodyHash: 'h' },
  });
  await first.write(createOf(model, sampleObject('unclaimed')));
  await first.close();
  const remembered = await database.pool.query(rememberedChanges);
  expect(remembered.rows).toEqual([
    expect.objectContaining({ rev: String(before.revision), name: 'before', new: before.body }),
  ]);

  const client = await database.pool.connect();
  await client.query('BEGIN');
  const state = await readHistory(client);
  expect(state).toEqual({ revision: before.revision + 1, epoch: 1 });
  await client.query(
    'CREATE OR REPLACE FUNCTION platform.lease_held(wanted_namespace text, wanted text, transitions int) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$ BEGIN RETURN NULL; END $$',
  );
  const replaced = { revision: 5e14, epoch: 7 };
  expect(await adoptRestored(client, { known: [state, replaced], tables: await tablesOf() })).toBeUndefined();
  await client.query('COMMIT');
  client.release();
  const { rows } = await database.pool.query(
    "SELECT epoch, compacted, platform.lease_held('', 'x', 0) AS held FROM platform.meta",
  );
  expect(rows).toEqual([{ epoch: 8, compacted: expect.any(String), held: false }]);
  expect(Number(rows[0]!.compacted)).toBeGreaterThanOrEqual(5e14 + 1e9);
  expect(Number(rows[0]!.compacted)).toBeLessThan(5e14 + 2e9);

  const store = await PostgresStore.open({ database, log: silentLog });
  await store.changes.catchUp();
  await expect(store.changes.read(resourceOf(model), before.revision)).rejects.toMatchObject({ code: 'Compacted' });
  expect(await store.get(resourceOf(model), { namespace: '', name: 'before' })).toMatchObject({
    revision: before.revision,
  });
  expect((await store.write(createOf(model, sampleObject('after')))).revision).toBeGreaterThan(5e14 + 1e9);
  await store.close();
});

const column = (value: string): string =>
  `UPDATE platform.models SET columns = jsonb_set(columns, '{0}', (columns -> 0) || '${value}') WHERE resource = 'adopted'`;
const forgeries: [reason: string, change: string, fault: RegExp | undefined][] = [
  ['nothing', 'SELECT 1', undefined],
  [
    'a column named as SQL',
    column(`{"name": "i_1; DROP TABLE x"}`),
    /its model adopted\.store\.example\.com is not what its table is/,
  ],
  ['another column of the table', column(`{"name": "body"}`), /is not what its table is/],
  ['a missing column', column(`{"name": "i_99"}`), /is not what its table is/],
  [
    'an index of an unknown type',
    column(`{"index": {"name": "x", "multi": false, "type": "constructor"}}`),
    /is not what its table is/,
  ],
  ['no index', column(`{"index": null}`), /is not what its table is/],
  ['columns that are not a list', "UPDATE platform.models SET columns = '7'", /is not what its table is/],
  [
    'a revision at the maximum',
    "INSERT INTO platform.change_log (rev, size, model, type, namespace, name) VALUES (9223372036854775807, 0, 0, 'M', '', '')",
    /its log has revisions that are never given out/,
  ],
  [
    'a revision below all',
    "INSERT INTO platform.change_log (rev, size, model, type, namespace, name) VALUES (-5, 0, 0, 'M', '', '')",
    /its log has revisions/,
  ],
  [
    'an event of the future',
    "INSERT INTO platform.audit_events (at, id, code, username, verb, resource, namespace, name, event) VALUES (now() + interval '60 days', 'x', 200, '', '', '', '', '', '{}')",
    /its audit log has events of the future/,
  ],
  [
    'a missing model',
    "DELETE FROM platform.models WHERE resource = 'adopted'",
    /its models are not those of its tables/,
  ],
  [
    'an additional model',
    "INSERT INTO platform.models (api_group, resource, namespaced) VALUES ('x', 'y', true)",
    /its models are not those of its tables/,
  ],
];
test.each(forgeries)('a backup is validated: %s', async (_reason, change, fault) => {
  const found = await adoptAfter(change);
  if (fault === undefined) expect(found).toBeUndefined();
  else expect(found).toMatch(fault);
});

test('in a schema of an earlier release, missing functions are left to their migration', async () => {
  expect(await adoptAfter('DROP FUNCTION platform.lease_held(text, text, int)')).toBeUndefined();
});
