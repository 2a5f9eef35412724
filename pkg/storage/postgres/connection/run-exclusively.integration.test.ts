import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { Database, silentLog } from '#pkg/database/index';
import { createTestDatabase, type TestDatabase } from '../../../testenv/test-database.ts';
import { PostgresStore } from '../postgres-store.ts';
import { SessionLock } from './session-lock.ts';

let testDatabase: TestDatabase;
let database: Database;
let stores: PostgresStore[];

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await Database.connect({ connection: testDatabase.connection, log: silentLog });
  stores = await Promise.all([1, 2].map(() => PostgresStore.open({ database, log: silentLog })));
});

afterAll(async () => {
  await Promise.all(stores.map((store) => store.close()));
  await database.close();
  await testDatabase.drop();
});

const holder =
  "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND classid = 819 AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";

test('runs one at a time, over all stores', async () => {
  let running = 0;
  const work = async (): Promise<void> => {
    running += 1;
    expect(running).toBe(1);
    await new Promise(setImmediate);
    running -= 1;
  };
  await Promise.all(Array.from({ length: 6 }, (_, i) => stores[i % 2]!.runExclusively('turns', work)));
});

test('work is aborted at once if its lock is lost, before another begins', async () => {
  const order: string[] = [];
  const first = stores[0]!.runExclusively('lost', async (held) => {
    order.push('first');
    const lost = once(held, 'abort');
    await database.pool.query(`SELECT pg_terminate_backend(pid) FROM (${holder}) h`);
    await lost;
    order.push('lost');
    held.throwIfAborted();
  });
  await expect(first).rejects.toMatchObject({ code: 'Unavailable' });
  await stores[1]!.runExclusively('lost', async () => void order.push('second'));
  expect(order).toEqual(['first', 'lost', 'second']);
});

test("work under a lock has no statement timeout, whatever the user's setting", async () => {
  const limited = await Database.connect({
    connection: { ...testDatabase.connection, options: '-c statement_timeout=100' },
    log: silentLog,
  });
  const lock = await SessionLock.open(limited);
  await lock.run('SELECT pg_sleep(0.2)');
  await lock.release();
  await limited.close();
});

test("the caller's signal ends the wait and the work", async () => {
  const abort = new AbortController();
  const reason = new Error('enough');
  const held = stores[0]!.runExclusively(
    'given up',
    async (signal) => {
      const waiting = stores[1]!.runExclusively('given up', async () => 'never', abort.signal);
      abort.abort(reason);
      await expect(waiting).rejects.toBe(reason);
      signal.throwIfAborted();
    },
    abort.signal,
  );
  await expect(held).rejects.toBe(reason);
});
