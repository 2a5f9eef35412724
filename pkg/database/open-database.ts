import type pg from 'pg';
import { Database, type DatabaseOptions } from './database.ts';
import { EmbeddedPostgres } from './embedded/embedded-postgres.ts';

export interface OpenDatabaseOptions extends Omit<DatabaseOptions, 'connection'> {
  /** That of an embedded PostgreSQL that another process of this program runs; unused with a url. */
  readonly embedded?: pg.ClientConfig | undefined;
  /** Where the embedded PostgreSQL keeps its data; unused with a url. */
  readonly dataDir: string;
  /** Settings of the embedded PostgreSQL; unused with a url. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface OpenedDatabase {
  readonly database: Database;
  /** Connects to the embedded PostgreSQL, if it is one. */
  readonly embedded: pg.ClientConfig | undefined;
  /** Closes the database, then stops PostgreSQL if it is ours. Idempotent. */
  stop(): Promise<void>;
}

/**
 * Opens the database of a url, or else an embedded PostgreSQL in the data folder, with programs from the npm package,
 * the PATH, or Debian's folders. Throws DatabaseError with instructions if there is none.
 */
export async function openDatabase(options: OpenDatabaseOptions): Promise<OpenedDatabase> {
  const { dataDir, settings, url, embedded: connection, ...rest } = options;
  if (url !== undefined || connection !== undefined) {
    const database = await Database.connect(
      url === undefined ? { ...rest, connection: connection! } : { ...rest, url },
    );
    return { database, embedded: connection, stop: () => database.close() };
  }
  const embedded = await EmbeddedPostgres.start({
    dataDir,
    log: rest.log,
    ...(settings === undefined ? {} : { settings }),
  });
  try {
    const database = await Database.connect({ ...rest, connection: embedded.connection });
    return {
      database,
      embedded: embedded.connection,
      stop: async () => {
        await database.close();
        await embedded.stop();
      },
    };
  } catch (error) {
    await embedded.stop();
    throw error;
  }
}
