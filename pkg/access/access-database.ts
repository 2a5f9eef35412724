import { sql, type Kysely } from 'kysely';
import type { Pool } from 'pg';
import { newKysely, runQuery, runTransaction, type Database, type Queryable } from '#pkg/database/index';
import type { AccessTables } from './access-tables.ts';

const statementTimeoutMs = 10_000;
/** After this time without an answer the connection counts as lost: its other end has gone without closing it. */
const queryTimeoutMs = 11_000;

/** Schema `access` of the database. One at a time in a process, as it has its own connections. */
export class AccessDatabase {
  /** To open other connections. */
  readonly database: Database;
  /** For prepared statements and transactions; tables are written `access.users`. */
  readonly pool: Pool;
  /** For statements built at run time, such as lists with filters. Uses the same connections. */
  readonly kysely: Kysely<AccessTables>;

  /** The schema must be up to date. `close`, or the `Database`, closes the `poolSize` connections, 8 by default. */
  constructor(database: Database, { poolSize = 8 }: { poolSize?: number } = {}) {
    this.database = database;
    this.pool = database.newPool({
      name: 'access',
      max: poolSize,
      statementTimeoutMs,
      queryTimeoutMs,
    });
    this.kysely = newKysely(this.pool);
  }

  /** Resolves when no statement runs any more and the connections are closed. */
  close(): Promise<void> {
    return this.pool.end();
  }

  /** Runs `work` in one transaction, which rolls back if `work` throws. */
  transaction<T>(work: (client: Queryable) => Promise<T>): Promise<T> {
    return runTransaction(this.pool, work);
  }
}

/** Only one transaction at a time can hold the lock of this name; the others wait. */
export async function lockUntilCommit(on: Queryable, name: string): Promise<void> {
  await runQuery(on, sql`SELECT pg_advisory_xact_lock(hashtextextended(${name}, 0))`);
}

/** Rows of one user that are in one order. */
export interface UserRows {
  table: 'access.sessions' | 'access.bearer_tokens';
  by: 'last_seen' | 'created';
  userId: string;
}

/** Deletes all of these rows but the newest `count`. */
export async function keepNewest(
  on: Queryable,
  { table, by, userId }: UserRows,
  count: number,
  name: string,
): Promise<void> {
  const rows = sql.table(table);
  const time = sql.ref(by);
  const trim = sql`DELETE FROM ${rows} WHERE user_id = ${userId} AND ${time} <=
    (SELECT ${time} FROM ${rows} WHERE user_id = ${userId} ORDER BY ${time} DESC LIMIT 1 OFFSET ${count})`;
  await runQuery(on, trim, name);
}

/** Is it PostgreSQL's error for a unique violation? */
export function isDuplicate(error: unknown): boolean {
  return (error as { code?: string } | null)?.code === '23505';
}
