import { afterAll, beforeAll } from '@jest/globals';
import { Database, silentLog } from '#pkg/database/index';
import { createTestDatabase, type TestDatabase } from '../../testenv/test-database.ts';
import { runStoreTests } from '../storetest/run-store-tests.ts';
import { sampleKeyEvaluator } from '../storetest/sample-key-evaluator.ts';
import type { StorePair } from '../storetest/store-pair.ts';
import { PostgresStore } from './postgres-store.ts';

let testDatabase: TestDatabase;
let databases: Database[] = [];
let pair: StorePair | undefined;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  databases = await Promise.all(
    [1, 2].map(() => Database.connect({ connection: testDatabase.connection, log: silentLog })),
  );
  const [store, other] = await Promise.all(
    databases.map((database) => PostgresStore.open({ database, log: silentLog, keyEvaluator: sampleKeyEvaluator })),
  );
  pair = { store: store!, other: other! };
});

afterAll(async () => {
  await Promise.all([pair?.store.close(), pair?.other.close()]);
  await Promise.all(databases.map((database) => database.close()));
  await testDatabase?.drop();
});

runStoreTests('PostgresStore', () => pair!);
