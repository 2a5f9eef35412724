import type { Pool, PoolClient } from 'pg';
import { isConnectionUsable } from './database-failure.ts';

export interface TransactionOptions {
  /** Default `BEGIN`. */
  begin?: string;
}

/**
 * Runs `work` in one transaction on one connection and rolls back if it throws. The connection returns to the pool if
 * PostgreSQL has answered every statement, even with an error. It is closed if its state is unknown: it broke, or an
 * answer timed out.
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
    // After a failed statement whose error `work` caught, PostgreSQL answers COMMIT with ROLLBACK.
    const { command } = await client.query('COMMIT');
    if (command !== 'COMMIT') throw new Error('the transaction was rolled back: one of its statements had failed');
    isKnown = true;
    return result;
  } catch (error) {
    isKnown = isConnectionUsable(error) && (await isRolledBack(client));
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
