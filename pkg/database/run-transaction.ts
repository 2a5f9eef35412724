import type { Pool, PoolClient } from 'pg';
import { keepsConnection } from './database-failure.ts';

export interface TransactionOptions {
  /** Default `BEGIN`. */
  begin?: string;
}

/**
 * Runs `work` in one transaction on one connection; what it throws undoes it. The connection goes back into the pool
 * where PostgreSQL has answered all that was asked of it, also where that is an error, and is closed where its state is
 * not known: it broke, or no answer came in time.
 */
export async function runTransaction<T>(
  pool: Pool,
  work: (client: PoolClient) => Promise<T>,
  { begin = 'BEGIN' }: TransactionOptions = {},
): Promise<T> {
  const client = await pool.connect();
  let isKnown = false;
  try {
    await client.query(begin);
    const result = await work(client);
    await client.query('COMMIT');
    isKnown = true;
    return result;
  } catch (error) {
    isKnown = keepsConnection(error) && (await isRolledBack(client));
    throw error;
  } finally {
    client.release(!isKnown);
  }
}

async function isRolledBack(client: PoolClient): Promise<boolean> {
  try {
    await client.query('ROLLBACK');
    return true;
  } catch {
    return false;
  }
}
