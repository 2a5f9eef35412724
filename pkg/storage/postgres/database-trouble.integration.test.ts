import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Client } from 'pg';
import { Database, silentLog } from '#pkg/database/index';
import { createTestDatabase, type TestDatabase } from '../../testenv/test-database.ts';
import { decodeBody } from '../body.ts';
import type { Change } from '../change.ts';
import type { StorageErrorCode } from '../storage-error.ts';
import { createOf, resourceOf, sampleModel, sampleObject } from '../storetest/sample-model.ts';
import { PostgresStore } from './postgres-store.ts';

const model = sampleModel('troubled');
const resource = resourceOf(model);
const page = {
  selector: { labels: [], fields: [] },
  sort: [],
  page: 1,
  size: 10,
  exactTotal: false,
  exactTotalLimit: 10,
};
let testDatabase: TestDatabase;
let database: Database;
let store: PostgresStore;
let operator: Database;
let session: Client;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const { connection } = testDatabase;
  [database, operator] = await Promise.all([
    Database.connect({ connection, log: silentLog, connectionTimeoutMs: 1000 }),
    Database.connect({ connection, log: silentLog, poolSize: 1 }),
  ]);
  store = await PostgresStore.open({ database, log: silentLog, readTimeoutMs: 300, outageLimitMs: 1000 });
  session = await operator.newClient();
  await store.ensureModel(model);
  await store.write(createOf(model, sampleObject('there')));
});

afterAll(async () => {
  await store.close();
  await database.close();
  await operator.close();
  await testDatabase.drop();
});

/** Every insertion into the log fails with this code until `mend`. */
async function breakWrites(code: string): Promise<void> {
  await session.query(
    `CREATE OR REPLACE FUNCTION trouble() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'trouble' USING ERRCODE = '${code}'; END $$;
     CREATE TRIGGER trouble BEFORE INSERT ON platform.change_log FOR EACH ROW EXECUTE FUNCTION trouble()`,
  );
}

test.each<[string, string, StorageErrorCode]>([
  ['disk full', '53100', 'Unavailable'],
  ['out of memory', '53200', 'Unavailable'],
  ['a standby', '25006', 'Unavailable'],
  ['a disk that fails', '58030', 'Unavailable'],
  ['statement time-outs', '57014', 'Timeout'],
  ['deadlock after deadlock', '40P01', 'Timeout'],
])('writes continue after %s', async (reason, code, expected) => {
  await breakWrites(code);
  const name = `w-${code.toLowerCase()}`;
  const failed = await Promise.allSettled(
    [0, 1, 2].map((i) => store.write(createOf(model, sampleObject(`${name}-${i}`, { spec: { slug: reason } })))),
  );
  for (const outcome of failed) expect(outcome).toMatchObject({ status: 'rejected', reason: { code: expected } });
  await session.query('DROP TRIGGER trouble ON platform.change_log');
  expect(await store.write(createOf(model, sampleObject(name)))).toMatchObject({ name });
  expect(await store.get(resource, { namespace: '', name: `${name}-0` })).toBeUndefined();
});

test('on a full disk a deletion succeeds while creations fail', async () => {
  const gone = await store.write(createOf(model, sampleObject('gone')));
  await session.query(
    `CREATE OR REPLACE FUNCTION trouble() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.type <> 'D' THEN RAISE EXCEPTION 'trouble' USING ERRCODE = '53100'; END IF; RETURN NEW; END $$;
     CREATE TRIGGER trouble BEFORE INSERT ON platform.change_log FOR EACH ROW EXECUTE FUNCTION trouble()`,
  );
  const [first, deleted, last] = await Promise.allSettled([
    store.write(createOf(model, sampleObject('none-1'))),
    store.write({
      type: 'delete',
      resource,
      object: decodeBody(gone.body, gone.revision),
      fingerprint: 'f1',
      from: gone,
    }),
    store.write(createOf(model, sampleObject('none-2'))),
  ]);
  const refused = { status: 'rejected', reason: { code: 'Unavailable', message: 'the disk of the database is full' } };
  expect([first, deleted, last]).toMatchObject([refused, { status: 'fulfilled' }, refused]);
  await session.query('DROP TRIGGER trouble ON platform.change_log');
  expect(await store.get(resource, { namespace: '', name: 'gone' })).toBeUndefined();
});

test('a foreign trigger that refuses deletions fails no other write', async () => {
  const kept = await store.write(createOf(model, sampleObject('kept')));
  await session.query(
    `CREATE OR REPLACE FUNCTION trouble() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.type = 'D' THEN RAISE EXCEPTION 'kept for the auditors'; END IF; RETURN NEW; END $$;
     CREATE TRIGGER trouble BEFORE INSERT ON platform.change_log FOR EACH ROW EXECUTE FUNCTION trouble()`,
  );
  const outcomes = await Promise.allSettled([
    store.write(createOf(model, sampleObject('next-to-it-1'))),
    store.write(createOf(model, sampleObject('next-to-it-2'))),
    store.write({
      type: 'delete',
      resource,
      object: decodeBody(kept.body, kept.revision),
      fingerprint: 'f1',
      from: kept,
    }),
    store.write(createOf(model, sampleObject('next-to-it-3'))),
  ]);
  await session.query('DROP TRIGGER trouble ON platform.change_log');
  const message = 'a trigger in the database, which is not of svc, refused to do this';
  const done = { status: 'fulfilled' };
  expect(outcomes).toMatchObject([
    done,
    done,
    { status: 'rejected', reason: { code: 'Unavailable', message, cause: { message: 'kept for the auditors' } } },
    done,
  ]);
  expect(await store.get(resource, { namespace: '', name: 'kept' })).toBeDefined();
});

test('a statement times out before its request does: nothing piles up behind a lock', async () => {
  const pools: Parameters<Database['newPool']>[0][] = [];
  const newPool: Database['newPool'] = (options) => {
    pools.push(options);
    return database.newPool(options);
  };
  await (
    await PostgresStore.open({
      database: Object.assign(Object.create(database) as Database, { newPool }),
      log: silentLog,
    })
  ).close();
  expect(pools.map(({ name }) => name)).toEqual(expect.arrayContaining(['control', 'reads', 'snapshots']));
  for (const { queryTimeoutMs, statementTimeoutMs } of pools)
    if (queryTimeoutMs !== undefined) expect(statementTimeoutMs).toBeLessThan(queryTimeoutMs);
});

test('reads behind a lock time out, and succeed when it is released', async () => {
  const { rows } = await session.query<{ id: number }>("SELECT id FROM platform.models WHERE resource = 'troubled'");
  await session.query(`BEGIN; LOCK TABLE platform.m_${rows[0]!.id} IN ACCESS EXCLUSIVE MODE`);
  const reads = [
    store.get(resource, { namespace: '', name: 'there' }),
    store.page(resource, page),
    store.chunk(resource, { ...page, limit: 10 }),
    store.stream(resource, { ...page, order: 'sort' }),
  ];
  for (const outcome of await Promise.allSettled(reads))
    expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'Timeout' } });
  await session.query('ROLLBACK');
  expect((await store.page(resource, page)).total).toBeGreaterThan(0);
});

test('with a database that accepts no connections everything waits at most its limit, and continues when it does', async () => {
  const told: Change[] = [];
  await store.changes.catchUp();
  const stop = store.changes.subscribe((changes) => told.push(...changes));
  const unavailable = await Database.connect({
    connection: { ...testDatabase.connection, database: 'postgres' },
    log: silentLog,
    poolSize: 1,
  });
  const allow = (allowed: boolean): Promise<unknown> =>
    unavailable.pool.query(`ALTER DATABASE ${testDatabase.name} ALLOW_CONNECTIONS ${allowed}`);
  await allow(false);
  await session.query(
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  );
  const tried: Promise<unknown>[] = [
    store.get(resource, { namespace: '', name: 'there' }),
    store.page(resource, page),
    store.stream(resource, { ...page, order: 'sort' }),
    store.write(createOf(model, sampleObject('lost'))),
    store.indexStates(resource),
    store.ensureModel(sampleModel('another')),
    store.changes.catchUp(),
    store.ping(),
    store.runExclusively('anything', async () => undefined),
    store.compact({ minAgeMs: 0, maxSizeBytes: 0, idempotencyKeyAgeMs: 0 }),
  ];
  for (const outcome of await Promise.allSettled(tried)) {
    expect(outcome).toMatchObject({ status: 'rejected', reason: { name: 'StorageError' } });
    expect(['Unavailable', 'Timeout']).toContain((outcome as { reason: { code: string } }).reason.code);
  }
  await allow(true);
  await unavailable.close();
  const written = await store.write(createOf(model, sampleObject('found')));
  expect(await store.get(resource, { namespace: '', name: 'found' })).toEqual(written);
  await store.changes.catchUp();
  expect(told.map(({ name }) => name)).toEqual(['found']);
  stop();
});
