import { accessMigrations } from '#pkg/access/index';
import { checkMigrations, type CheckedSchema } from '#pkg/database/index';
import { platformMigrations } from '#pkg/storage/index';
import { newLogger } from '../process/logger.ts';
import { openSharedDatabase } from '../composition/open-operator-database.ts';
import type { LoadedOptions } from '../options/load-options.ts';
import { openPlatformDatabase, openStorage, startWriteMonitor } from '../composition/open-storage.ts';
import { Teardown } from '../process/teardown.ts';

/** Migrates the database's schemas; returns the exit code. Safe while servers run. */
export async function migrateDatabase({ options }: LoadedOptions): Promise<number> {
  const log = newLogger(options);
  const teardown = new Teardown(log);
  try {
    const database = await openPlatformDatabase(options, { log, teardown });
    startWriteMonitor(database, { log, teardown });
    await openStorage(database, options, { log, teardown });
    log.info({}, 'the database is up to date');
  } finally {
    await teardown.run();
  }
  return 0;
}

/**
 * Prints what `migrate` would do to each schema, without changes; returns the exit code. Throws OperatorError, or
 * DatabaseError if the migration would fail.
 */
export async function checkMigrate({ options }: LoadedOptions): Promise<number> {
  const log = newLogger(options);
  const teardown = new Teardown(log);
  try {
    const database = await openSharedDatabase(options, { log, teardown });
    const schemas = await checkMigrations(database, [
      { schema: 'access', migrations: accessMigrations },
      { schema: 'platform', migrations: platformMigrations },
    ]);
    for (const { inUseBy, underWay, newer, ...facts } of schemas) {
      log.info(
        facts,
        facts.pending.length === 0 ? 'the schema is up to date' : 'the schema would be brought up to date',
      );
      if (newer.length > 0)
        log.info(
          { schema: facts.schema, newer },
          'a newer version has migrated this schema, and this version is compatible with it',
        );
      if (underWay)
        log.warn({ schema: facts.schema }, 'another process is bringing the schema up to date at this moment');
      if (inUseBy.length > 0)
        log.warn(
          { schema: facts.schema, inUseBy },
          'a step that changes a table waits until these transactions are done',
        );
    }
    log.info({}, verdict(schemas));
  } finally {
    await teardown.run();
  }
  return 0;
}

function verdict(schemas: readonly CheckedSchema[]): string {
  return schemas.every(({ pending }) => pending.length === 0)
    ? 'the database is up to date'
    : 'the database can be brought up to date';
}
