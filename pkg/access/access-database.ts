import { sql, type Kysely } from 'kysely';
import type { Pool } from 'pg';
import { newKysely, runQuery, runTransaction, type Database, type Queryable } from '#pkg/database/index';
import type { AccessTables } from './access-tables.ts';

const CONNECTIONS = 8;
const TIMEOUT_MS = 10_000;
/** An answer that has not come by then does not come: the other end of the connection is gone without a word. */
const ANSWER_TIMEOUT_MS = 11_000;

/** Schema `access` of the one database; one of a process, as it has connections of its own. */
export class AccessDatabase {
  /** For whoever needs other connections. */
  readonly whole: Database;
  /** For statements by name and for transactions; tables are written `access.users`. */
  readonly pool: Pool;
  /** For statements that are put together: lists with filters. On the same connections. */
  readonly kysely: Kysely<AccessTables>;

  /** The schema must be up to date. The connections are the database's to close. */
  constructor(database: Database) {
    this.whole = database;
    this.pool = database.newPool({
      name: 'access',
      max: CONNECTIONS,
      statementTimeoutMs: TIMEOUT_MS,
      queryTimeoutMs: ANSWER_TIMEOUT_MS,
    });
    this.kysely = newKysely(this.pool);
  }

  /** One transaction; what `work` throws undoes it. */
  transaction<T>(work: (client: Queryable) => Promise<T>): Promise<T> {
    return runTransaction(this.pool, work);
  }
}

/** Of those that take the lock of this name, one transaction at a time goes on. */
export async function lockUntilCommit(on: Queryable, name: string): Promise<void> {
  await runQuery(on, sql`SELECT pg_advisory_xact_lock(hashtextextended(${name}, 0))`);
}

/** Is it PostgreSQL's word for what is there already? */
export function isDuplicate(error: unknown): boolean {
  return (error as { code?: string } | null)?.code === '23505';
}
