import type { Pool, PoolClient } from 'pg';
import { StorageError } from '../../storage-error.ts';
import { classifyFailure, isStatementTimeout } from '../connection/database-failure.ts';

/** How long an ordered scan may look for what it is to find before all matches are gathered after all. Milliseconds. */
const timeoutMs = 250;

/** Runs a query, and answers undefined if the database does not come to its end in a quarter of a second. */
export async function queryWithTimeout<T>(
  pool: Pool,
  query: (runner: Pick<PoolClient, 'query'>) => Promise<T>,
): Promise<T | undefined> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    return await withTimeLimit(client, () => query(client));
  } catch (error) {
    if (isStatementTimeout(error)) return undefined;
    if (!isAnswer(error)) broken = error instanceof Error ? error : new Error('not an answer');
    throw error;
  } finally {
    client.release(broken);
  }
}

async function withTimeLimit<T>(client: PoolClient, work: () => Promise<T>): Promise<T> {
  await client.query(`BEGIN READ ONLY; SET LOCAL statement_timeout = ${timeoutMs}`);
  try {
    const result = await work();
    await client.query('ROLLBACK');
    return result;
  } catch (error) {
    if (isAnswer(error)) await client.query('ROLLBACK');
    throw error;
  }
}

/**
 * Did the database say so, or what read its answer? A connection that went silent is of no use to whoever would get it
 * next.
 */
function isAnswer(error: unknown): boolean {
  return error instanceof StorageError || classifyFailure(error) !== 'unknown';
}
