import { pino } from 'pino';
import { createPlatformRegistry } from '#pkg/apiserver/index';
import { Database, silentLog } from '#pkg/database/index';
import { PostgresStore } from '#pkg/storage/index';
import { createTestDatabase, templateDatabase, type TestDatabase, type TestDatabaseOptions } from './test-database.ts';

/**
 * Makes a database as a platform leaves it that has been started once: migrations, the built-in models and their
 * objects. On another `server` than the test run's it is empty, and the platform's first start fills it.
 */
export async function createPlatformDatabase(server?: TestDatabaseOptions['server']): Promise<TestDatabase> {
  if (server !== undefined) return createTestDatabase({ server });
  const template = await templateDatabase('platform', preparePlatform);
  return createTestDatabase(template === undefined ? {} : { template });
}

async function preparePlatform(connection: TestDatabase['connection']): Promise<void> {
  const database = await Database.connect({ connection, log: silentLog });
  const store = await PostgresStore.open({ database, log: silentLog });
  const registry = await createPlatformRegistry({ store, log: pino({ level: 'silent' }) });
  await registry.stop();
  await store.close();
  // Without this mark a copy is not taken for a restored database.
  await database.pool.query('UPDATE platform.meta SET incarnation = NULL');
  await database.close();
}
