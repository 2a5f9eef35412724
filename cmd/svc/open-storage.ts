import type { Logger } from 'pino';
import { accessMigrations } from '#pkg/access/index';
import { migrate, openDatabase, type Database } from '#pkg/database/index';
import { PostgresStore } from '#pkg/storage/index';
import type { Options } from './options/option-table.ts';
import type { Teardown } from './teardown.ts';

/** What an embedded PostgreSQL keeps free beside the main pool: for lists, writes, news, indexes, and an operator. */
const OTHER_CONNECTIONS = 50;

/** The database of the options, or an embedded one. */
export async function openPlatformDatabase(options: Options, log: Logger, teardown: Teardown): Promise<Database> {
  const url = options['svc.database.url'];
  const opened = await openDatabase({
    ...(url === undefined ? {} : { url }),
    dataDir: options['svc.data.dir'],
    poolSize: options['svc.database.pool-size'],
    settings: { max_connections: String(options['svc.database.pool-size'] + OTHER_CONNECTIONS) },
    log,
  });
  teardown.add('database', () => opened.stop());
  return opened.database;
}

/** The store, with both schemas up to date. */
export async function openStorage(database: Database, options: Options, log: Logger, teardown: Teardown): Promise<PostgresStore> {
  await migrate(database, 'access', accessMigrations);
  const store = await PostgresStore.open({ database, log, readTimeout: options['svc.api.request-timeout'] });
  teardown.add('store', () => store.close());
  return store;
}
