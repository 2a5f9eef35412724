import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import { Database, silentLog } from '#pkg/database/index';
import { CuttingProxy } from '../../../testenv/cutting-proxy.ts';
import { createTestDatabase, type TestDatabase } from '../../../testenv/test-database.ts';
import type { Change } from '../../change.ts';
import { isStorageError } from '../../storage-error.ts';
import type { IdempotencyKey, StoredObject } from '../../store.ts';
import { createOf, sampleModel, sampleObject, updateOf } from '../../storetest/sample-model.ts';
import { PostgresStore } from '../postgres-store.ts';

const model = sampleModel('shaken');
let testDatabase: TestDatabase;
let databases: Database[];
let stores: PostgresStore[];
let terminator: Client;
let proxy: CuttingProxy;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const proxied = await CuttingProxy.start(testDatabase.connection);
  proxy = proxied.proxy;
  const connections = [proxied.connection, proxied.connection, testDatabase.connection];
  databases = await Promise.all(connections.map((connection) => Database.connect({ connection, log: silentLog })));
  stores = await Promise.all(databases.slice(0, 2).map((database) => PostgresStore.open({ database, log: silentLog })));
  terminator = await databases[2]!.newClient();
  await stores[0]!.ensureModel(model);
});

afterAll(async () => {
  await Promise.all(stores.map((store) => store.close()));
  await Promise.all(databases.map((database) => database.close()));
  await proxy.stop();
  await testDatabase.drop();
});

interface Acknowledged {
  name: string;
  step: number;
  revision: number;
}

const idempotencyKeyOf = (name: string, step: number): IdempotencyKey => ({
  user: 'u',
  method: 'PUT',
  path: `/${name}`,
  key: String(step),
  bodyHash: 'h',
});

/**
 * Writes one object repeatedly, each time from the last acknowledged state; every acknowledged write must have
 * happened.
 */
async function write(
  store: PostgresStore,
  name: string,
  { until, idempotencyKeys }: { until: number; idempotencyKeys: boolean },
): Promise<Acknowledged[]> {
  const acknowledged: Acknowledged[] = [];
  let last: StoredObject | undefined;
  for (let step = 0; Date.now() < until; step += 1) {
    const options = idempotencyKeys ? { idempotency: idempotencyKeyOf(name, step) } : {};
    try {
      last = await store.write(
        last === undefined ? createOf(model, sampleObject(name, { spec: { step } })) : updateOf(model, last, { step }),
        options,
      );
      acknowledged.push({ name, step, revision: last.revision });
    } catch (error) {
      // The only permitted causes are a database that is unavailable for too long, or busy restarting.
      if (!isStorageError(error, 'Unavailable') && !isStorageError(error, 'Timeout')) throw error;
    }
  }
  return acknowledged;
}

/** Two of three writers on each replica. */
const isClaiming = (writer: number): boolean => writer % 3 > 0;

function record(store: PostgresStore): Change[] {
  const changes: Change[] = [];
  store.changes.subscribe((newChanges) => changes.push(...newChanges));
  return changes;
}

test('whatever connections are cut, every acknowledged write is applied once and delivered to every watcher in order', async () => {
  const told = stores.map(record);
  const until = Date.now() + 4000;
  const cutting = (async () => {
    while (Date.now() < until - 300) {
      await delay(40);
      await proxy.cut(0.3);
      await terminator.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND random() < 0.1',
      );
    }
  })();
  const histories = await Promise.all(
    Array.from({ length: 24 }, (_, i) => write(stores[i % 2]!, `o-${i}`, { until, idempotencyKeys: isClaiming(i) })),
  );
  await cutting;
  await Promise.all(stores.map((store) => store.changes.catchUp()));
  const acknowledged = histories.flat().toSorted((a, b) => a.revision - b.revision);
  expect(acknowledged.length).toBeGreaterThan(100);
  const { rows } = await terminator.query<{ rev: string; name: string; new: string }>(
    "SELECT rev, name, new FROM platform.change_log WHERE type <> 'M' ORDER BY rev",
  );
  const logged = rows.map((row) => ({
    name: row.name,
    step: (JSON.parse(row.new) as { spec: { step: number } }).spec.step,
    revision: Number(row.rev),
  }));
  expect(logged).toEqual(acknowledged);
  const claimed = await terminator.query<{ path: string; key: string; rev: string }>(
    'SELECT path, key, rev FROM platform.idempotency_keys ORDER BY rev',
  );
  const idempotencyKeys = claimed.rows.map(({ path, key, rev }) => ({
    name: path.slice(1),
    step: Number(key),
    revision: Number(rev),
  }));
  expect(idempotencyKeys).toEqual(acknowledged.filter(({ name }) => isClaiming(Number(name.slice('o-'.length)))));
  for (const changes of told)
    expect(changes.map(({ revision }) => revision)).toEqual(logged.map(({ revision }) => revision));
});
