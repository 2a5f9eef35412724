import { Kysely, PostgresDialect, type PostgresPoolClient, type PostgresQueryResult } from 'kysely';
import type { Pool, PoolClient, QueryResultRow } from 'pg';
import { isConnectionUsable } from './database-failure.ts';

/**
 * Kysely on a pool. A connection in an unknown state, because it broke or an answer timed out, is closed: Kysely alone
 * would return it to the pool, and the next statement would wait behind the last.
 */
export function newKysely<Tables>(pool: Pool): Kysely<Tables> {
  return new Kysely({
    dialect: new PostgresDialect({
      pool: { connect: async () => watched(await pool.connect()), end: () => pool.end() },
    }),
  });
}

function watched(client: PoolClient): PostgresPoolClient {
  let isKnown = true;
  const query = async <Row>(text: string, parameters: readonly unknown[]): Promise<PostgresQueryResult<Row>> => {
    try {
      return (await client.query<Row & QueryResultRow>(text, [...parameters])) as PostgresQueryResult<Row>;
    } catch (error) {
      if (!isConnectionUsable(error)) isKnown = false;
      throw error;
    }
  };
  return { query: query as PostgresPoolClient['query'], release: () => client.release(!isKnown) };
}
