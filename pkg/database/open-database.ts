import { Database, type DatabaseOptions } from './database.ts';
import { EmbeddedPostgres } from './embedded/embedded-postgres.ts';

export interface OpenDatabaseOptions extends Omit<DatabaseOptions, 'connection'> {
  /** Where the embedded PostgreSQL keeps its data; unused with a url. */
  readonly dataDir: string;
  /** Settings of the embedded PostgreSQL; unused with a url. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface OpenedDatabase {
  readonly database: Database;
  /** Closes the database, then stops PostgreSQL if it is ours. Idempotent. */
  stop(): Promise<void>;
}

/**
 * Opens the database of a url, or else an embedded PostgreSQL in the data folder, with programs from the npm package,
 * the PATH, or Debian's folders. Throws DatabaseError with instructions if there is none.
 */
export async function openDatabase(options: OpenDatabaseOptions): Promise<OpenedDatabase> {
  const { dataDir, settings, url, ...rest } = options;
  if (url !== undefined) {
    const database = await Database.connect({ ...rest, url });
    return { database, stop: () => database.close() };
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
