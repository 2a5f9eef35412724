import type { Logger } from 'pino';
import { AccessDatabase, accessMigrations } from '#pkg/access/index';
import { Database, findEmbedded, migrate } from '#pkg/database/index';
import { newLogger } from '../process/logger.ts';
import { openPlatformDatabase, startWriteMonitor } from './open-storage.ts';
import { OperatorError } from '../options/operator-error.ts';
import type { Options } from '../options/option-table.ts';
import { Teardown } from '../process/teardown.ts';

/**
 * Runs a command on a database that servers may be using. Starts an embedded PostgreSQL for the command unless it is
 * already running. Logs go to stderr: stdout is for the command's output. Throws OperatorError, DatabaseError.
 */
export function withAccessDatabase(
  options: Options,
  work: (database: AccessDatabase) => Promise<number>,
): Promise<number> {
  return withOperatorDatabase(options, {}, async ({ database }) => {
    await migrate(database, 'access', accessMigrations);
    return work(new AccessDatabase(database));
  });
}

export interface OperatorDatabase {
  readonly database: Database;
  readonly log: Logger;
}

export interface SharedDatabaseOptions {
  /** As for `Database`: the first words of `application_name`. */
  readonly applicationName?: string;
  /** Creates the database if the data folder has none. */
  readonly mayCreate?: boolean;
}

/** As `withAccessDatabase`, without migrations. */
export async function withOperatorDatabase(
  options: Options,
  shared: SharedDatabaseOptions,
  work: (opened: OperatorDatabase) => Promise<number>,
): Promise<number> {
  const log = newLogger(options, 2);
  const teardown = new Teardown(log);
  try {
    const database = await openSharedDatabase(options, { ...shared, log, teardown });
    startWriteMonitor(database, { log, teardown });
    return await work({ database, log });
  } finally {
    await teardown.run();
  }
}

/**
 * Opens the database, which servers may be using; the teardown closes it. Throws OperatorError if there is none,
 * DatabaseError.
 */
export async function openSharedDatabase(
  options: Options,
  { log, teardown, applicationName, mayCreate = false }: SharedDatabaseOptions & { log: Logger; teardown: Teardown },
): Promise<Database> {
  const dataDir = options['svc.data.dir'];
  const name = applicationName === undefined ? {} : { applicationName };
  if (options['svc.database.url'] === undefined) {
    const embedded = await findEmbedded(dataDir);
    if (embedded === undefined && !mayCreate)
      throw new OperatorError(
        `There is no database in ${dataDir}; set svc.data.dir or svc.database.url as the server has it.`,
      );
    if (embedded?.connection !== undefined) {
      const database = await Database.connect({ connection: embedded.connection, log, ...name });
      teardown.add('database', () => database.close());
      return database;
    }
  }
  return openPlatformDatabase(options, { log, teardown, ...name });
}
