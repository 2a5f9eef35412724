import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Client } from 'pg';
import type { ApiObject } from '#pkg/apimachinery/index';
import { Database, silentLog } from '#pkg/database/index';
import { CuttingProxy } from '../../../testenv/cutting-proxy.ts';
import { pollUntil } from '../../../testenv/faults/poll-until.ts';
import { createTestDatabase, type TestDatabase } from '../../../testenv/test-database.ts';
import { createOf, resourceOf, sampleModel, sampleObject, widgetIndexes } from '../../storetest/sample-model.ts';
import { revisionLock } from '../connection/revision-lock.ts';
import { PostgresStore } from '../postgres-store.ts';
import { TableCatalog } from '../table/table-catalog.ts';
import type { Table } from '../table/table.ts';
import { BatchRunner, type PendingWrite } from './batch-runner.ts';
import { toOperation } from './batch-operation.ts';
import { WriterConnection } from './writer-connection.ts';

const model = sampleModel('batched', { indexes: [widgetIndexes.slug] });
let testDatabase: TestDatabase;
let direct: Database;
let proxied: Database;
let proxy: CuttingProxy;
let connection: WriterConnection;
let runner: BatchRunner;
let table: Table;
/** A session that holds locks. */
let other: Client;
/** The calls to the sink and the writes, in order. */
let heard: string[];

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const cutting = await CuttingProxy.start(testDatabase.connection);
  proxy = cutting.proxy;
  direct = await Database.connect({ connection: testDatabase.connection, log: silentLog });
  proxied = await Database.connect({ connection: cutting.connection, log: silentLog });
  const store = await PostgresStore.open({ database: direct, log: silentLog });
  await store.ensureModel(model);
  await store.close();
  table = await new TableCatalog(direct.pool).get(resourceOf(model));
  other = await direct.newClient();
  connection = new WriterConnection(proxied);
  runner = new BatchRunner({
    connection,
    pool: direct.pool,
    origin: 'test',
    replicas: { present: false },
    outageLimitMs: 60_000,
    sink: {
      cursor: 0,
      committed: (_first, _last, changes) => void heard.push(`committed ${changes.map(({ name }) => name).join(' ')}`),
      uncertain: () => void heard.push('uncertain'),
      checkEpoch: () => {
        heard.push('checkEpoch');
        return Promise.resolve(true);
      },
      stale: () => void heard.push('stale'),
    },
  });
});

afterAll(async () => {
  await connection.drop();
  await Promise.all([direct.close(), proxied.close()]);
  await proxy.stop();
  await testDatabase.drop();
});

beforeEach(() => void (heard = []));

function writeOf(object: ApiObject, of = table): PendingWrite {
  const operation = toOperation(createOf(model, object), of, {});
  const { name } = operation;
  return {
    since: performance.now(),
    operation,
    prepare: () => Promise.resolve(toOperation(createOf(model, object), table, {})),
    done: () => void heard.push(`done ${name}`),
    failed: (error) => void heard.push(`${(error as { code?: string }).code} ${name}`),
  };
}

const logged = async (name: string): Promise<number | null> =>
  (await direct.pool.query('SELECT FROM platform.change_log WHERE name = $1', [name])).rowCount;
const isThere = async (pid: number): Promise<boolean> =>
  (await direct.pool.query('SELECT FROM pg_stat_activity WHERE pid = $1', [pid])).rowCount === 1;

/** The session that waits for the revision lock, if there is one. */
async function waiting(): Promise<number | undefined> {
  const { rows } = await direct.pool.query<{ pid: number }>(
    "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = $1 AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) ORDER BY waitstart DESC NULLS FIRST",
    [revisionLock],
  );
  return rows[0]?.pid;
}

test('the sink gets committed changes before their writers get an answer', async () => {
  await runner.run([writeOf(sampleObject('a1')), writeOf(sampleObject('a2'))]);
  expect(heard).toEqual(['committed a1 a2', 'done a1', 'done a2']);
});

test('each write has its own outcome', async () => {
  await runner.run([writeOf(sampleObject('b1', { spec: { slug: 'b' } }))]);
  heard = [];
  await runner.run([
    writeOf(sampleObject('b2')),
    writeOf(sampleObject('b1')),
    writeOf(sampleObject('b3', { spec: { slug: 'b' } })),
    writeOf(sampleObject('b4')),
  ]);
  expect(heard.toSorted()).toEqual(['AlreadyExists b1', 'UniqueClash b3', 'committed b2 b4', 'done b2', 'done b4']);
});

test('a write for another shape of the table is prepared again', async () => {
  await runner.run([writeOf(sampleObject('c'), { ...table, shape: table.shape - 1 })]);
  expect(heard).toEqual(['stale', 'committed c', 'done c']);
});

test('a statement whose connection is lost is terminated before its write is sent again', async () => {
  await runner.run([writeOf(sampleObject('d0'))]);
  heard = [];
  await other.query(`BEGIN; SELECT pg_advisory_xact_lock(${revisionLock})`);
  const running = runner.run([writeOf(sampleObject('d'))]);
  await pollUntil(async () => (await waiting()) !== undefined);
  const lost = connection.session!.pid;
  await proxy.cut(1);
  // The session waits for the lock on the server, and does not know that its connection is lost.
  await pollUntil(async () => ![undefined, lost].includes(await waiting()));
  expect(await isThere(lost)).toBe(false);
  await other.query('COMMIT');
  await running;
  expect([heard, await logged('d')]).toEqual([['uncertain', 'stale', 'committed d', 'done d'], 1]);
});

test('a write whose acknowledgement is lost is done once, and the sink is informed of the gap', async () => {
  await runner.run([writeOf(sampleObject('e0'))]);
  heard = [];
  const running = runner.run([writeOf(sampleObject('e'))]);
  await proxy.cut(1);
  await running;
  expect([heard.at(-1), await logged('e')]).toEqual(['done e', 1]);
});

test('a write is not sent again if the log no longer shows whether it was done', async () => {
  await runner.run([writeOf(sampleObject('f0'))]);
  heard = [];
  const { rows } = await direct.pool.query<{ compacted: string }>('SELECT compacted FROM platform.meta');
  await other.query(`BEGIN; SELECT pg_advisory_xact_lock(${revisionLock})`);
  const running = runner.run([writeOf(sampleObject('f'))]);
  await pollUntil(async () => (await waiting()) !== undefined);
  await direct.pool.query('UPDATE platform.meta SET compacted = 1000');
  await proxy.cut(1);
  await running;
  await other.query('COMMIT');
  await direct.pool.query('UPDATE platform.meta SET compacted = $1', [rows[0]!.compacted]);
  expect([heard, await logged('f')]).toEqual([['Timeout f'], 0]);
});

test('a full disk does not end the session: a write that needs less space does not wait for a new one', async () => {
  await runner.run([writeOf(sampleObject('h0'))]);
  const before = connection.session;
  await direct.pool.query(
    `CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '53100'; END $$;
     CREATE TRIGGER no_room BEFORE INSERT ON platform.change_log FOR EACH ROW EXECUTE FUNCTION no_room()`,
  );
  heard = [];
  await runner.run([writeOf(sampleObject('h1')), writeOf(sampleObject('h2'))]);
  await direct.pool.query('DROP TRIGGER no_room ON platform.change_log');
  await runner.run([writeOf(sampleObject('h3'))]);
  expect(heard).toEqual(['Unavailable h1', 'Unavailable h2', 'committed h3', 'done h3']);
  expect(connection.session).toEqual(before);
});

test('a session that accepts no writes, as on a standby, is not kept', async () => {
  await runner.run([writeOf(sampleObject('g0'))]);
  await connection.run({ text: 'SET default_transaction_read_only = on', values: [] });
  heard = [];
  await runner.run([writeOf(sampleObject('g'))]);
  await runner.run([writeOf(sampleObject('g'))]);
  expect(heard).toEqual(['Unavailable g', 'committed g', 'done g']);
});
