import type { Pool, PoolClient } from 'pg';
import { isStatementTimeout } from './database-failure.ts';

/** How long an ordered scan may look for what it is to find before all matches are gathered after all. Milliseconds. */
const patience = 250;

/** Runs a query, and answers undefined if the database does not come to its end in a quarter of a second. */
export async function soon<T>(pool: Pool, query: (runner: Pick<PoolClient, 'query'>) => Promise<T>): Promise<T | undefined> {
  const client = await pool.connect();
  try {
    return await withTimeLimit(client, () => query(client));
  } catch (error) {
    if (!isStatementTimeout(error)) throw error;
    return undefined;
  } finally {
    client.release();
  }
}

async function withTimeLimit<T>(client: PoolClient, work: () => Promise<T>): Promise<T> {
  await client.query(`BEGIN READ ONLY; SET LOCAL statement_timeout = ${patience}`);
  try {
    return await work();
  } finally {
    await client.query('ROLLBACK');
  }
}
