import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import { Database, silentLog } from '#pkg/database/index';
import { createTestDatabase, type TestDatabase } from '../../../testenv/test-database.ts';
import { decodeBody } from '../../body.ts';
import type { StoredObject, Write } from '../../store.ts';
import { createOf, resourceOf, sampleModel, sampleObject, type StoreModel } from '../../storetest/sample-model.ts';
import { changesChannel } from '../connection/replica-presence.ts';
import { revisionLock } from '../connection/revision-lock.ts';
import { PostgresStore } from '../postgres-store.ts';
import { TableCatalog } from '../table/table-catalog.ts';
import { tableName } from '../table/table.ts';
import { batchRows, batchStatement, type BatchRow, type SentRow } from './batch-statement.ts';
import { toOperation, type BatchOperation } from './batch-operation.ts';
import type { BatchMark } from './statement-parts.ts';
import { batchRowOf, singleStatement, type SingleRow } from './single-statement.ts';

const namespaces: StoreModel = { ...sampleModel('namespaces', { indexes: [] }), group: '' };
const model = sampleModel('lone');
const spaced = sampleModel('lonespaced', { namespaced: true });
let testDatabase: TestDatabase;
let database: Database;
let store: PostgresStore;
let client: Client;
let other: Client;
let held: StoredObject;
let used: StoredObject;
let empty: StoredObject;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await Database.connect({ connection: testDatabase.connection, log: silentLog });
  store = await PostgresStore.open({ database, log: silentLog });
  for (const each of [namespaces, model, spaced]) await store.ensureModel(each);
  const spec = {
    slug: 'held',
    owner: 'me "\\',
    rank: 5,
    weight: 0.5,
    open: true,
    due: '2026-02-03T04:05:06Z',
    tags: ['a', 'b,"c"', '{}'],
  };
  held = await store.write(createOf(model, sampleObject('held', { spec, labels: { 'a/b': 'c', d: '' } })));
  await store.write(createOf(model, sampleObject('other', { spec: { slug: 'other' } })));
  used = await store.write(createOf(namespaces, sampleObject('used')));
  empty = await store.write(createOf(namespaces, sampleObject('empty')));
  await store.write(createOf(spaced, sampleObject('inside', { namespace: 'used' })));
  client = await database.newClient();
  other = await database.newClient();
});

afterAll(async () => {
  await store.close();
  await database.close();
  await testDatabase.drop();
});

const operationOf = async (write: Write): Promise<BatchOperation> =>
  toOperation(write, await new TableCatalog(database.pool).get(write.resource), {});

/** The two statements for one write; both return the rows of a batch. */
const ways: Record<string, (operation: BatchOperation, mark: BatchMark, session?: Client) => Promise<BatchRow[]>> = {
  single: async (operation, mark, session = client) =>
    (await session.query<SingleRow>(singleStatement(operation, mark))).rows.map((row) => batchRowOf(operation, row)),
  general: async (operation, mark, session = client) =>
    batchRows([operation], (await session.query<SentRow>(batchStatement([operation], mark))).rows),
};

const revisionNow = async (): Promise<number> =>
  Number((await client.query<{ last_value: string }>('SELECT last_value FROM platform.revision')).rows[0]!.last_value);

/** Returns the result and the effects of one statement, with revisions relative to its start; then rolls back. */
async function trace(way: string, operation: BatchOperation): Promise<unknown> {
  const start = await revisionNow();
  const relative = (revision: unknown): unknown =>
    typeof revision === 'string' && Number(revision) > start ? `+${Number(revision) - start}` : revision;
  const batch = randomUUID();
  await client.query('BEGIN');
  try {
    const rows = await ways[way]!(operation, { batch, origin: undefined });
    const answer = rows.map(({ i, rev, found, shapes_match, first, last }) => ({
      i,
      rev: relative(rev),
      found,
      shapes_match,
      first: relative(first),
      last: relative(last),
    }));
    const log = await client.query<Record<string, unknown>>('SELECT * FROM platform.change_log WHERE rev > $1', [
      start,
    ]);
    const table = await client.query<Record<string, unknown>>(
      `SELECT * FROM ${tableName(operation.table)} ORDER BY namespace, name`,
    );
    return {
      answer,
      drawn: (await revisionNow()) - start,
      log: log.rows.map((row) => ({ ...row, at: undefined, rev: relative(row['rev']), batch: row['batch'] === batch })),
      table: table.rows.map((row) => ({ ...row, rev: relative(row['rev']) })),
    };
  } catch (error) {
    const { code, constraint } = error as { code: string; constraint: string };
    return { code, constraint };
  } finally {
    await client.query('ROLLBACK');
  }
}

const updateOf = (from: StoredObject, spec: Record<string, unknown>, of: StoreModel = model): Write =>
  ({
    type: 'update',
    resource: resourceOf(of),
    object: { ...decodeBody(from.body, from.revision), spec },
    fingerprint: 'f2',
    from,
  }) as Write;
const deleteOf = (from: StoredObject, of: StoreModel = model): Write => ({
  type: 'delete',
  resource: resourceOf(of),
  object: decodeBody(from.body, from.revision),
  fingerprint: 'f2',
  from,
});
const deletedNamespace = (name: string): Write =>
  createOf(namespaces, sampleObject(name, { deleted: '2026-03-01T00:00:00Z' }));
const everyType = {
  slug: 'new',
  owner: 'ü\\"{},',
  rank: -7,
  weight: 1e300,
  open: false,
  due: '2026-05-06T07:08:09.123Z',
  tags: ['x', '"', '\\', 'NULL', ''],
};

describe('a single statement does what a batch of one does', () => {
  const written = {
    answer: [{ i: 0, rev: '+1', shapes_match: true, first: '+1', last: '+1' }],
    drawn: 1,
    log: [{ rev: '+1', batch: true }],
  };
  const refused = { answer: [{ i: 0, rev: null }], log: [] };
  test.each<[string, () => Write, object]>([
    [
      'create',
      () => createOf(model, sampleObject('new', { spec: everyType, labels: { k: 'v', 'x/y': '' } })),
      { ...written, log: [{ type: 'C', prev: null, old: null }] },
    ],
    [
      'create of an object that is being deleted',
      () => createOf(model, sampleObject('new', { deleted: '2026-03-01T00:00:00Z' })),
      written,
    ],
    [
      'create in a namespace',
      () => createOf(spaced, sampleObject('new', { namespace: 'used', spec: everyType })),
      written,
    ],
    ['create of an existing name', () => createOf(model, sampleObject('held')), { ...refused, drawn: 1 }],
    [
      'create with an existing unique value',
      () => createOf(model, sampleObject('new', { spec: { slug: 'held' } })),
      { ...refused, drawn: 1 },
    ],
    [
      'create in a missing namespace',
      () => createOf(spaced, sampleObject('new', { namespace: 'absent' })),
      { ...refused, drawn: 1 },
    ],
    ['update', () => updateOf(held, everyType), { ...written, log: [{ type: 'U' }] }],
    ['update that removes every index value', () => updateOf(held, {}), written],
    [
      'update of an outdated revision',
      () => updateOf({ ...held, revision: held.revision - 1 }, {}),
      { ...refused, drawn: 0 },
    ],
    [
      'update of a missing object',
      () => updateOf({ ...held, body: held.body.replace('"held"', '"absent"') }, {}),
      { ...refused, drawn: 0 },
    ],
    ['update to an existing unique value', () => updateOf(held, { slug: 'other' }), { code: '23505' }],
    ['delete', () => deleteOf(held), { ...written, log: [{ type: 'D' }] }],
    [
      'delete of an outdated revision',
      () => deleteOf({ ...held, revision: held.revision - 1 }),
      { ...refused, drawn: 0 },
    ],
    [
      'delete of a missing object',
      () => deleteOf({ ...held, body: held.body.replace('"held"', '"absent"') }),
      { ...refused, drawn: 0 },
    ],
    ['delete of an empty namespace', () => deleteOf(empty, namespaces), written],
    ['delete of a namespace with objects', () => deleteOf(used, namespaces), { ...refused, drawn: 1 }],
    ['create of a namespace that is being deleted', () => deletedNamespace('going'), written],
  ])('%s', async (_case, write, expected) => {
    const operation = await operationOf(write());
    const single = await trace('single', operation);
    expect(single).toMatchObject(expected);
    expect(await trace('general', operation)).toEqual(single);
  });

  test.each<[string, () => Write]>([
    ['create', () => createOf(model, sampleObject('new'))],
    ['update', () => updateOf(held, {})],
    ['delete', () => deleteOf(held)],
  ])('%s on a table whose shape has changed uses no revision', async (_case, write) => {
    const operation = await operationOf(write());
    const stale = { ...operation, table: { ...operation.table, shape: operation.table.shape - 1 } };
    const single = await trace('single', stale);
    expect(single).toMatchObject({
      answer: [{ rev: null, shapes_match: false, first: null, last: null }],
      drawn: 0,
      log: [],
    });
    expect(await trace('general', stale)).toEqual(single);
    const gone = { ...operation, table: { ...operation.table, id: 999_999 } };
    expect(await trace('single', gone)).toEqual({ code: '42P01', constraint: undefined });
  });
});

describe.each(Object.keys(ways))('the %s statement', (way) => {
  const run = ways[way]!;

  test('sees what was committed before it got the revision lock', async () => {
    const { rows } = await other.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const started: [string, Write, string][] = [
      [
        'a changed shape',
        createOf(model, sampleObject('late')),
        `UPDATE platform.models SET shape = shape + 1 WHERE resource = 'lone'`,
      ],
      [
        'a deleted namespace',
        createOf(spaced, sampleObject('late', { namespace: 'empty' })),
        `DELETE FROM ${tableName((await operationOf(deletedNamespace('x'))).table)} WHERE name = 'empty'`,
      ],
      [
        'a name that was created meanwhile',
        createOf(model, sampleObject('late')),
        `INSERT INTO ${tableName((await operationOf(deleteOf(held))).table)} (namespace, name, rev, uid, created, labels, fingerprint, body) VALUES ('', 'late', 1, gen_random_uuid(), now(), '{}', '', '{}')`,
      ],
    ];
    for (const [, write, sql] of started) {
      const operation = await operationOf(write);
      await client.query('BEGIN');
      await client.query(`SELECT pg_advisory_xact_lock(${revisionLock})`);
      const before = await revisionNow();
      const waiting = run(operation, { batch: randomUUID(), origin: undefined }, other);
      await waitsForLock(rows[0]!.pid);
      expect(await revisionNow()).toBe(before);
      await client.query(sql);
      await client.query('COMMIT');
      expect(await waiting).toMatchObject([{ rev: null }]);
    }
    await client.query("UPDATE platform.models SET shape = shape - 1 WHERE resource = 'lone'");
    await client.query(`DELETE FROM ${tableName((await operationOf(deleteOf(held))).table)} WHERE name = 'late'`);
    empty = await store.write(createOf(namespaces, sampleObject('empty')));
  });

  test('notifies the listeners of what was written', async () => {
    const told: (string | undefined)[] = [];
    const listener = ({ payload }: { payload?: string | undefined }): number => told.push(payload);
    other.on('notification', listener);
    await other.query(`LISTEN ${changesChannel}`);
    await run(await operationOf(createOf(model, sampleObject(`told-${way}`))), { batch: randomUUID(), origin: 'me' });
    await run(await operationOf(createOf(model, sampleObject(`told-${way}`))), {
      batch: randomUUID(),
      origin: 'of nothing',
    });
    await run(await operationOf(createOf(model, sampleObject(`untold-${way}`))), {
      batch: randomUUID(),
      origin: undefined,
    });
    await other.query(`UNLISTEN ${changesChannel}`);
    other.off('notification', listener);
    expect(told.filter((payload) => payload === 'me' || payload === 'of nothing')).toEqual(['me']);
  });
});

async function waitsForLock(pid: number): Promise<void> {
  for (;;) {
    const { rows } = await database.pool.query<{ waits: boolean }>(
      "SELECT EXISTS (SELECT FROM pg_locks WHERE pid = $1 AND locktype = 'advisory' AND NOT granted) AS waits",
      [pid],
    );
    if (rows[0]!.waits) return;
    await delay(5);
  }
}
