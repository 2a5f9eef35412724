import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Client } from 'pg';
import { Database, silentLog } from '#pkg/database/index';
import { createTestDatabase, type TestDatabase } from '../../../testenv/test-database.ts';
import type { IdempotencyKey } from '../../store.ts';
import type { BatchReport } from '../../store-observer.ts';
import { createOf, sampleModel, sampleObject } from '../../storetest/sample-model.ts';
import { PostgresStore } from '../postgres-store.ts';

const model = sampleModel('keyed');
let testDatabase: TestDatabase;
let database: Database;
let store: PostgresStore;
let session: Client;
let batches: Pick<BatchReport, 'size' | 'failed'>[] = [];

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await Database.connect({ connection: testDatabase.connection, log: silentLog });
  store = await PostgresStore.open({
    database,
    log: silentLog,
    observer: { batch: ({ size, failed }) => batches.push({ size, failed }) },
  });
  session = await database.newClient();
  await store.ensureModel(model);
  await store.write(createOf(model, sampleObject('there')));
});

beforeEach(() => {
  batches = [];
});

afterAll(async () => {
  await session.end();
  await store.close();
  await database.close();
  await testDatabase.drop();
});

const idempotencyKeyOf = (key: string): IdempotencyKey => ({
  user: 'u',
  method: 'POST',
  path: '/p',
  key,
  bodyHash: 'h',
});
const writeAll = (name: string, idempotencyKeys: readonly IdempotencyKey[]): Promise<PromiseSettledResult<unknown>[]> =>
  Promise.allSettled(
    idempotencyKeys.map((idempotency, i) =>
      store.write(createOf(model, sampleObject(`${name}-${i}`)), { idempotency }),
    ),
  );

test('concurrent writes are sent in one statement, each with its idempotency key', async () => {
  const idempotencyKeys = Array.from({ length: 64 }, (_, i) => idempotencyKeyOf(`together-${i}`));
  expect((await writeAll('together', idempotencyKeys)).every(({ status }) => status === 'fulfilled')).toBe(true);
  expect(batches).toEqual([{ size: 64, failed: false }]);
});

test('used idempotency keys need one more statement, however many there are', async () => {
  const idempotencyKeys = Array.from({ length: 64 }, (_, i) => idempotencyKeyOf(`partly-${i}`));
  const used = idempotencyKeys.filter((_, i) => i % 3 === 0);
  await writeAll('used', used);
  batches = [];
  const outcomes = await writeAll('partly', idempotencyKeys);
  expect(outcomes.map(({ status }) => status)).toEqual(
    idempotencyKeys.map((_, i) => (i % 3 === 0 ? 'rejected' : 'fulfilled')),
  );
  expect(batches).toEqual([
    { size: 64, failed: true },
    { size: 64 - used.length, failed: false },
  ]);
});

test('idempotency keys whose statement was lost with its connection are used once', async () => {
  await session.query(
    `CREATE SEQUENCE losses;
     CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN IF nextval('losses') = 10 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF; RETURN NEW; END $$;
     CREATE TRIGGER lose BEFORE INSERT ON platform.idempotency_keys FOR EACH ROW EXECUTE FUNCTION lose()`,
  );
  const idempotencyKeys = Array.from({ length: 20 }, (_, i) => idempotencyKeyOf(`lost-${i}`));
  const outcomes = await writeAll('lost', idempotencyKeys);
  await session.query('DROP TRIGGER lose ON platform.idempotency_keys');
  expect(batches).toEqual([
    { size: 20, failed: true },
    { size: 20, failed: false },
  ]);
  const { rows } = await session.query<{ key: string; rev: string }>(
    "SELECT key, rev FROM platform.idempotency_keys WHERE key LIKE 'lost-%'",
  );
  const revisions = new Map(rows.map(({ key, rev }) => [key, Number(rev)]));
  expect(outcomes).toEqual(
    idempotencyKeys.map(({ key }) => ({
      status: 'fulfilled',
      value: expect.objectContaining({ revision: revisions.get(key) }),
    })),
  );
});
