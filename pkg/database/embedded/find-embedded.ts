import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { listMajors, locateHome } from './cluster.ts';
import { connectionTo } from './embedded-postgres.ts';
import { isPostmaster, readPidFile } from './pid-file.ts';

/** An embedded PostgreSQL with an existing cluster. */
export interface FoundEmbedded {
  /** Undefined if it is not running. */
  readonly connection: pg.ClientConfig | undefined;
}

/**
 * Finds the embedded PostgreSQL of a data folder without starting or stopping anything: for commands that run while the
 * server may be running. Undefined if the folder has none. Throws DatabaseError if its data is lost.
 */
export async function findEmbedded(dataDir: string): Promise<FoundEmbedded | undefined> {
  const folder = await realpath(dataDir).catch(ignoreMissing);
  if (folder === undefined) return undefined;
  const home = await locateHome(folder, undefined);
  const majors = await listMajors(home);
  for (const major of majors) {
    const pgdata = join(home, `pgdata-${major}`);
    const pidFile = await readPidFile(pgdata);
    if (pidFile !== undefined && (await isPostmaster(pidFile.pid, pgdata)))
      return { connection: connectionTo(pidFile.socketDirectory) };
  }
  return majors.length === 0 ? undefined : { connection: undefined };
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
