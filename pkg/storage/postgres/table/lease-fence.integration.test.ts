import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import type { Fence } from '#pkg/apimachinery/index';
import { Database, silentLog } from '#pkg/database/index';
import { createTestDatabase, type TestDatabase } from '../../../testenv/test-database.ts';
import { decodeBody } from '../../body.ts';
import { isStorageError } from '../../storage-error.ts';
import type { Write, StoreWriteOptions } from '../../store.ts';
import { leaseOf, sampleLeaseModel, next } from '../../storetest/fence-cases.ts';
import { createOf, resourceOf, sampleModel, sampleObject } from '../../storetest/sample-model.ts';
import { revisionLock } from '../connection/revision-lock.ts';
import { platformMigrations } from '../migrations.ts';
import { PostgresStore } from '../postgres-store.ts';
import { batchRows, batchStatement, type BatchRow, type SentRow } from '../write/batch-statement.ts';
import { toOperation, type BatchOperation } from '../write/batch-operation.ts';
import type { BatchMark } from '../write/statement-parts.ts';
import { batchRowOf, singleStatement, type SingleRow } from '../write/single-statement.ts';
import { TableCatalog } from './table-catalog.ts';
import { tableName } from './table.ts';

const model = sampleModel('led');
let testDatabase: TestDatabase;
let databases: Database[];
let stores: PostgresStore[];
let client: Client;
let other: Client;
let leaseTable: string;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  databases = await Promise.all(
    [1, 2].map(() => Database.connect({ connection: testDatabase.connection, log: silentLog })),
  );
  stores = await Promise.all(databases.map((database) => PostgresStore.open({ database, log: silentLog })));
  for (const each of [sampleLeaseModel, model]) await stores[0]!.ensureModel(each);
  client = await databases[0]!.newClient();
  other = await databases[0]!.newClient();
  leaseTable = tableName(await new TableCatalog(databases[0]!.pool).get(resourceOf(sampleLeaseModel)));
});

afterAll(async () => {
  await Promise.all(stores.map((store) => store.close()));
  await Promise.all(databases.map((database) => database.close()));
  await testDatabase.drop();
});

const held = (lease: string, transitions = 0): Fence => ({ namespace: 'default', lease, transitions });
const operationOf = async (write: Write, fence?: Fence): Promise<BatchOperation> =>
  toOperation(
    write,
    await new TableCatalog(databases[0]!.pool).get(write.resource),
    fence === undefined ? {} : { fence },
  );
const mark = (): BatchMark => ({ batch: randomUUID(), origin: undefined });

/** The two statements for one write; both return the row of a batch. */
const ways: Record<string, (operation: BatchOperation, session: Client) => Promise<BatchRow>> = {
  single: async (operation, session) =>
    batchRowOf(operation, (await session.query<SingleRow>(singleStatement(operation, mark()))).rows[0]!),
  general: async (operation, session) =>
    batchRows([operation], (await session.query<SentRow>(batchStatement([operation], mark()))).rows)[0]!,
};

async function waitsForLock(pid: number): Promise<void> {
  for (;;) {
    const { rows } = await databases[0]!.pool.query<{ waits: boolean }>(
      "SELECT EXISTS (SELECT FROM pg_locks WHERE pid = $1 AND locktype = 'advisory' AND NOT granted) AS waits",
      [pid],
    );
    if (rows[0]!.waits) return;
    await delay(5);
  }
}

async function anyWaits(): Promise<void> {
  const waiting =
    "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
  while ((await databases[0]!.pool.query(waiting)).rowCount === 0) await delay(5);
}

const passOn = (name: string): Promise<unknown> =>
  client.query(
    `UPDATE ${leaseTable} SET body = jsonb_set(body::jsonb, '{spec,leaseTransitions}', '1')::text WHERE name = $1`,
    [name],
  );

test('a statement without a fence has no fence conditions', async () => {
  const plain = await operationOf(createOf(model, sampleObject('plain')));
  const fenced = await operationOf(createOf(model, sampleObject('plain')), held('a'));
  for (const make of [
    (operation: BatchOperation) => singleStatement(operation, mark()),
    (operation: BatchOperation) => batchStatement([operation], mark()),
  ]) {
    expect(make(plain).text).not.toMatch(/fence|lease_held/);
    expect(make(fenced).text).toMatch(/lease_held/);
  }
});

describe.each(Object.keys(ways))('the %s statement', (way) => {
  const run = ways[way]!;

  test('returns the state of the fence, and uses no revision if it is lost', async () => {
    await stores[0]!.write(leaseOf(`asked-${way}`, { holderIdentity: 'me' }));
    const from = await stores[0]!.write(createOf(model, sampleObject(`asked-${way}`)));
    const write = next(model, from, { by: 'me' });
    const stale: Write = next(model, { ...from, revision: 1 }, {});
    expect(await run(await operationOf(write, held(`asked-${way}`, 1)), client)).toMatchObject({
      rev: null,
      first: null,
      is_fence_lost: true,
    });
    expect(await run(await operationOf(stale, held(`asked-${way}`, 1)), client)).toMatchObject({
      rev: null,
      found: String(from.revision),
      is_fence_lost: false,
    });
    expect(await run(await operationOf(write, held(`asked-${way}`)), client)).toMatchObject({
      rev: String(from.revision + 1),
      shapes_match: true,
      is_fence_lost: false,
    });
  });

  test.each<[string, (name: string) => Promise<unknown>]>([
    ['passed on', passOn],
    [
      'given back',
      (name) =>
        client.query(
          `UPDATE ${leaseTable} SET body = jsonb_set(body::jsonb, '{spec,holderIdentity}', '""')::text WHERE name = $1`,
          [name],
        ),
    ],
    ['deleted', (name) => client.query(`DELETE FROM ${leaseTable} WHERE name = $1`, [name])],
  ])('sees that the lease was %s before it got the revision lock, though its snapshot is older', async (how, lose) => {
    const { rows } = await other.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const name = `${way}-${how.replace(' ', '-')}`;
    await stores[0]!.write(leaseOf(name, { holderIdentity: 'me' }));
    const from = await stores[0]!.write(createOf(model, sampleObject(name)));
    for (const write of [
      createOf(model, sampleObject(`${name}-new`)),
      next(model, from, { by: 'late' }),
      next(model, from),
    ]) {
      await client.query('BEGIN');
      await client.query(`SELECT pg_advisory_xact_lock(${revisionLock})`);
      const waiting = run(await operationOf(write, held(name)), other);
      await waitsForLock(rows[0]!.pid);
      await lose(name);
      await client.query('COMMIT');
      expect(await waiting).toMatchObject({ rev: null, is_fence_lost: true });
    }
  });
});

test('a write whose connection was lost is sent again with its fence', async () => {
  const [store] = stores;
  await store!.write(leaseOf('cut', { holderIdentity: 'me' }));
  const fence = held('cut');
  await store!.write(createOf(model, sampleObject('cut-before')), { fence });
  await client.query('BEGIN');
  await client.query(`SELECT pg_advisory_xact_lock(${revisionLock})`);
  const writes = Promise.allSettled([
    store!.write(createOf(model, sampleObject('cut-fenced')), { fence }),
    store!.write(createOf(model, sampleObject('cut-plain'))),
  ]);
  const waiting =
    "pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted) AND datname = current_database()";
  for (let cut = 0; cut === 0; await delay(5)) {
    cut =
      (await databases[1]!.pool.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${waiting}`))
        .rowCount ?? 0;
  }
  await passOn('cut');
  await client.query('COMMIT');
  const [fenced, plain] = await writes;
  expect(fenced).toMatchObject({ status: 'rejected', reason: { code: 'FenceLost' } });
  expect(plain).toMatchObject({ status: 'fulfilled' });
});

test('leases from before fences existed work as fences after the migration', async () => {
  await client.query('DROP FUNCTION platform.lease_held');
  await platformMigrations.find(({ name }) => name === '0005_lease_held')!.up(databases[0]!.kysely);
  await stores[0]!.write(leaseOf('early', { holderIdentity: 'me' }));
  await stores[0]!.write(createOf(model, sampleObject('early')), { fence: held('early') });
  await expect(
    stores[0]!.write(createOf(model, sampleObject('early-lost')), { fence: held('early', 1) }),
  ).rejects.toMatchObject({ code: 'FenceLost' });
});

test.each(['repeatable read', 'serializable'])(
  'a write sees what was committed before it got the revision lock if the database has %s',
  async (isolation) => {
    await client.query(`ALTER DATABASE ${testDatabase.name} SET default_transaction_isolation = '${isolation}'`);
    const database = await Database.connect({ connection: testDatabase.connection, log: silentLog });
    const store = await PostgresStore.open({ database, log: silentLog });
    const name = `strict-${isolation.replace(' ', '-')}`;
    const reshaped = sampleModel(name);
    await store.ensureModel(reshaped);
    await store.write(leaseOf(name, { holderIdentity: 'me' }));
    await store.write(createOf(model, sampleObject(`${name}-before`)), { fence: held(name) });
    await client.query('BEGIN');
    await client.query(`SELECT pg_advisory_xact_lock(${revisionLock})`);
    const fenced = store.write(createOf(model, sampleObject(name)), { fence: held(name) });
    const outcome = fenced.then(
      () => 'written',
      (error: unknown) => error,
    );
    await anyWaits();
    await passOn(name);
    await client.query('COMMIT');
    expect(await outcome).toMatchObject({ code: 'FenceLost' });

    await client.query('BEGIN');
    await client.query(`SELECT pg_advisory_xact_lock(${revisionLock})`);
    const stale = store.write(createOf(reshaped, sampleObject(name))).then(
      () => 'written',
      (error: unknown) => error,
    );
    await anyWaits();
    await client.query('DELETE FROM platform.models WHERE resource = $1', [name]);
    await client.query('COMMIT');
    expect(await stale).toMatchObject({ code: 'ModelNotFound' });

    await store.close();
    await database.close();
    await client.query(`ALTER DATABASE ${testDatabase.name} RESET default_transaction_isolation`);
  },
);

const rounds = process.env['SVC_TEST_VALUES'] === 'all' ? 300 : 60;

test(`in ${rounds} turns no write of a deposed leader is made after the lease has passed on`, async () => {
  let lease = await stores[0]!.write(leaseOf('raced', { holderIdentity: 'leader-0', leaseTransitions: 0 }));
  const objects = await Promise.all(
    Array.from({ length: 4 }, (_, i) => stores[0]!.write(createOf(model, sampleObject(`raced-${i}`)))),
  );
  let acknowledged = 0;
  let refused = 0;

  /**
   * One worker of a leader: changes one object, and creates and removes another, until it learns that it lost the
   * lease. `begun` is called after the first successful pass.
   */
  async function lead(
    store: PostgresStore,
    lane: number,
    options: StoreWriteOptions & { fence: Fence },
    begun: () => void,
  ): Promise<number> {
    const { transitions } = options.fence;
    let last = 0;
    try {
      for (let step = 0; ; step += 1) {
        const spec = { turn: `t${transitions}`, step: String(step) };
        objects[lane] = await store.write(next(model, objects[lane]!, spec), options);
        const made = await store.write(createOf(model, sampleObject(`lane-${lane}`, { spec })), options);
        last = made.revision;
        acknowledged += 2;
        begun();
        last = (await store.write(next(model, made), options)).revision;
        acknowledged += 1;
      }
    } catch (error) {
      if (!isStorageError(error, 'FenceLost')) throw error;
      refused += 1;
    }
    // An unfenced write deletes the object that the worker left behind.
    const left = await store.get(resourceOf(model), { namespace: '', name: `lane-${lane}` });
    if (left !== undefined) await store.write(next(model, left));
    return Math.max(last, objects[lane]!.revision);
  }

  for (let round = 0; round < rounds; round += 1) {
    const [leader, successor] = round % 2 === 0 ? [stores[0]!, stores[1]!] : [stores[1]!, stores[0]!];
    const fence = held('raced', round);
    const lanes: Promise<number>[] = [];
    const begun = objects.map(
      (_, lane) => new Promise<void>((resolve) => lanes.push(lead(leader, lane, { fence }, resolve))),
    );
    if (round % 3 === 0) await Promise.all(begun);
    if (round % 3 === 1) await successor.ping();
    for (let turns = round % 17; turns > 0; turns -= 1) await turn();
    lease = await successor.write(
      next(sampleLeaseModel, lease, { holderIdentity: `leader-${round + 1}`, leaseTransitions: round + 1 }),
    );
    // Writes sent after the acknowledgement, from either replica, are rejected.
    const late = await Promise.allSettled(
      stores.map((store, i) => store.write(createOf(model, sampleObject(`late-${round}-${i}`)), { fence })),
    );
    for (const outcome of late) expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'FenceLost' } });
    for (const last of await Promise.all(lanes)) expect(last).toBeLessThan(lease.revision);
  }
  expect(refused).toBe(rounds * objects.length);
  expect(acknowledged).toBeGreaterThan(rounds);

  // The log contains every write, acknowledged or not: each turn's writes lie between the lease's two.
  const { rows } = await client.query<{ rev: string; type: string; name: string; new: string }>(
    "SELECT rev, type, name, new FROM platform.change_log WHERE name = 'raced' OR name LIKE 'raced-%' OR name LIKE 'late-%' OR (name LIKE 'lane-%' AND type = 'C') ORDER BY rev",
  );
  let turns = -1;
  let fenced = 0;
  for (const row of rows) {
    const { spec } = decodeBody(row.new, Number(row.rev)) as { spec: { turn?: string; leaseTransitions?: number } };
    if (row.name === 'raced') turns = spec.leaseTransitions!;
    else if (spec.turn !== undefined) {
      fenced += 1;
      expect(spec.turn).toBe(`t${turns}`);
    }
    expect(row.name).not.toMatch(/^late-/);
  }
  expect(turns).toBe(rounds);
  expect(fenced).toBeGreaterThan(rounds / 2);
});
