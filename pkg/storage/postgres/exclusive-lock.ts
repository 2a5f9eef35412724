import type { Database } from '#pkg/database/index';
import { isLockTimeout } from './database-failure.ts';
import { translated } from './translate-error.ts';

const exclusiveLocks = 819;

/**
 * Runs `work` under a lock that all replicas know by its name. A session lock on a connection of its own: it is gone
 * with the process. Waits in line, and looks every second whether it still should.
 */
export async function runExclusively<T>(database: Database, name: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const client = await translated(database.newClient());
  try {
    await client.query('SET lock_timeout = 1000');
    for (let locked = false; !locked; ) {
      signal?.throwIfAborted();
      locked = await translated(
        client.query('SELECT pg_advisory_lock($1, hashtext($2))', [exclusiveLocks, name]).then(
          () => true,
          (error: unknown) => {
            if (isLockTimeout(error)) return false;
            throw error;
          },
        ),
      );
    }
    return await work();
  } finally {
    await client.end().catch(() => undefined);
  }
}
