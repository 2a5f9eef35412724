import type { Logger } from 'pino';
import { AccessDatabase, accessMigrations } from '#pkg/access/index';
import { Database, findEmbedded, migrate } from '#pkg/database/index';
import { newLogger } from './logger.ts';
import { openPlatformDatabase } from './open-storage.ts';
import { OperatorError } from './operator-error.ts';
import type { Options } from './options/option-table.ts';
import { Teardown } from './teardown.ts';

/**
 * Runs a command on the database that servers may be using at this moment. An embedded PostgreSQL that runs is left running; one that does not is started
 * for the time being. Logs go to stderr: stdout is for what was asked for. Throws OperatorError, DatabaseError.
 */
export async function onDatabase(options: Options, work: (database: AccessDatabase) => Promise<number>): Promise<number> {
  const log = newLogger(options['svc.log.level'], 2);
  const teardown = new Teardown(log);
  try {
    const database = await openBesideServers(options, { log, teardown });
    await migrate(database, 'access', accessMigrations);
    return await work(new AccessDatabase(database));
  } finally {
    await teardown.run();
  }
}

async function openBesideServers(options: Options, surroundings: { log: Logger; teardown: Teardown }): Promise<Database> {
  const dataDir = options['svc.data.dir'];
  if (options['svc.database.url'] === undefined) {
    const embedded = await findEmbedded(dataDir);
    if (embedded === undefined) throw new OperatorError(`There is no database in ${dataDir}; set svc.data.dir or svc.database.url as the server has it.`);
    if (embedded.connection !== undefined) {
      const database = await Database.connect({ connection: embedded.connection, log: surroundings.log });
      surroundings.teardown.add('database', () => database.close());
      return database;
    }
  }
  return openPlatformDatabase(options, surroundings);
}
