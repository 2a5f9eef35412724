import { Kysely, PostgresDialect, type PostgresPoolClient, type PostgresQueryResult } from 'kysely';
import type { Pool, PoolClient, QueryResultRow } from 'pg';
import { keepsConnection } from './database-failure.ts';

/**
 * Kysely on a pool. A connection whose state is not known, as it broke or no answer came in time, is closed: Kysely
 * alone would put it back, and the next statement would wait behind the last.
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
      if (!keepsConnection(error)) isKnown = false;
      throw error;
    }
  };
  return { query: query as PostgresPoolClient['query'], release: () => client.release(!isKnown) };
}
