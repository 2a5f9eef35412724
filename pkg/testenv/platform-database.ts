import { pino } from 'pino';
import { createPlatformRegistry } from '#pkg/apiserver/index';
import { Database, silentLog } from '#pkg/database/index';
import { PostgresStore } from '#pkg/storage/index';
import { createTestDatabase, templateDatabase, type TestDatabase, type TestDatabaseOptions } from './test-database.ts';

/**
 * Creates a database in the state after the platform's first start: migrations, the built-in models and their objects.
 * On another `server` than the test run's the database is empty, and the platform's first start fills it.
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
  // With this mark a copy would count as a restored database.
  await database.pool.query('UPDATE platform.meta SET incarnation = NULL');
  await database.close();
}
