import type { Pool, PoolClient } from 'pg';
import { runTransaction } from '#pkg/database/index';

/** Held from the first revision of a write to the end of its transaction: revision order is commit order. */
export const revisionLock = 815;

/**
 * Runs `work` in a transaction that has the lock; waits for it for at most `lockTimeoutMs`. A process that freezes
 * meanwhile loses the lock after 5 s, before the blocked writers give up.
 */
export function underRevisionLock<T>(
  pool: Pool,
  work: (client: PoolClient) => Promise<T>,
  lockTimeoutMs = 10_000,
): Promise<T> {
  const locked = async (client: PoolClient): Promise<T> => {
    await client.query(`SELECT pg_advisory_xact_lock(${revisionLock})`);
    return work(client);
  };
  return runTransaction(pool, locked, {
    begin: `BEGIN; SET LOCAL idle_in_transaction_session_timeout = 5000; SET LOCAL lock_timeout = ${lockTimeoutMs}`,
  });
}
