import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Database, silentLog } from '#pkg/database/index';
import { createTestDatabase, type TestDatabase } from '../../../testenv/test-database.ts';
import { createOf, sampleModel, sampleObject } from '../../storetest/sample-model.ts';
import { PostgresStore } from '../postgres-store.ts';

const model = sampleModel('compacted', { indexes: [] });
const hour = 3_600_000;
let testDatabase: TestDatabase;
let database: Database;
let store: PostgresStore;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await Database.connect({ connection: testDatabase.connection, log: silentLog });
  store = await PostgresStore.open({ database, log: silentLog });
  await store.ensureModel(model);
});

afterAll(async () => {
  await store.close();
  await database.close();
  await testDatabase.drop();
});

async function kept(): Promise<string[]> {
  const { rows } = await database.pool.query<{ name: string }>(
    "SELECT name FROM platform.change_log WHERE type <> 'M' ORDER BY rev",
  );
  return rows.map(({ name }) => name);
}

const write = (name: string, key?: string) =>
  store.write(
    createOf(model, sampleObject(name)),
    key === undefined ? {} : { idempotency: { user: 'u', method: 'POST', path: '/', key, bodyHash: 'h' } },
  );

test('a row is deleted with the last idempotency key that refers to it, also after it was skipped', async () => {
  for (let i = 0; i < 1200; i += 100) await Promise.all(Array.from({ length: 100 }, (_, j) => write(`o-${i + j}`)));
  await write('claimed', 'k');
  await write('newest');
  await store.compact({ minAgeMs: 0, maxSizeBytes: 1e12, idempotencyKeyAgeMs: hour });
  expect(await kept()).toEqual(['claimed', 'newest']);
  await write('newer');
  await store.compact({ minAgeMs: 0, maxSizeBytes: 1e12, idempotencyKeyAgeMs: hour });
  expect(await kept()).toEqual(['claimed', 'newer']);
  await store.compact({ minAgeMs: hour, maxSizeBytes: 1e12, idempotencyKeyAgeMs: 0 });
  expect(await kept()).toEqual(['newer']);
});

test('history is reduced to a size, from round to round, and compaction stops on its signal', async () => {
  for (let round = 0; round < 3; round += 1) {
    await Promise.all(Array.from({ length: 50 }, (_, i) => write(`s-${round}-${i}`)));
    const { rows } = await database.pool.query<{ size: string }>('SELECT max(size) AS size FROM platform.change_log');
    await store.compact({ minAgeMs: hour, maxSizeBytes: 10 * Number(rows[0]!.size), idempotencyKeyAgeMs: hour });
    expect((await kept()).length).toBeGreaterThan(8);
    expect((await kept()).length).toBeLessThan(13);
  }
  await write('more');
  const before = await kept();
  await store.compact({ minAgeMs: 0, maxSizeBytes: 0, idempotencyKeyAgeMs: 0 }, AbortSignal.abort());
  expect(await kept()).toEqual(before);
});
