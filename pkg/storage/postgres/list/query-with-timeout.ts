import type { Pool, PoolClient } from 'pg';
import { StorageError } from '../../storage-error.ts';
import { classifyFailure, isStatementTimeout } from '../connection/database-failure.ts';

/** How long an ordered scan may run before the caller gathers all matches instead. Milliseconds. */
const timeoutMs = 250;

/** Runs a query. Returns undefined if PostgreSQL does not finish it within `timeoutMs`. */
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
 * Whether the error is an answer of the database. Otherwise the connection may be broken, and must not go back into the
 * pool.
 */
function isAnswer(error: unknown): boolean {
  return error instanceof StorageError || classifyFailure(error) !== 'unknown';
}
