import pg from 'pg';
import type { Database } from '../database.ts';
import { DatabaseError, messageOf } from '../database-error.ts';
import { pendingSteps, stepsOf, type AppliedStep, type Migration } from './migration-steps.ts';
import { migrationLock, tableLockTimeoutMs } from './migrator.ts';
import { runTransaction } from '../run-transaction.ts';

export interface CheckedSchema {
  readonly schema: string;
  /** Names of the steps that were run, and of those that `migrate` would run. */
  readonly applied: readonly string[];
  readonly pending: readonly string[];
  /** The applied steps that only a newer version knows and that allow this version to work beside it. */
  readonly newer: readonly string[];
  /** Another process is migrating, or waits to. */
  readonly underWay: boolean;
  /**
   * Sessions that use the schema's tables in a transaction now: a pending step that changes such a table is retried
   * until they have ended.
   */
  readonly inUseBy: readonly TableUser[];
}

export interface TableUser {
  readonly pid: number;
  readonly application: string;
  readonly user: string;
  /** Age of the transaction; null if our user may not see it. */
  readonly seconds: number | null;
}

/**
 * Reports what `migrate` would do to each schema, from a read-only transaction. Throws DatabaseError if this program
 * cannot use the database: it is a standby or read only, was migrated by a newer version or a different line of the
 * program, or the user lacks a right that a pending step needs.
 */
export async function checkMigrations(
  database: Database,
  schemas: readonly { schema: string; migrations: readonly Migration[] }[],
): Promise<CheckedSchema[]> {
  let isReached = false;
  try {
    return await runTransaction(
      database.pool,
      async (client) => {
        isReached = true;
        await checkWritable(client);
        const checked: CheckedSchema[] = [];
        for (const { schema, migrations } of schemas) checked.push(await checkSchema(client, schema, migrations));
        return checked;
      },
      { begin: 'BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY' },
    );
  } catch (error) {
    if (!isReached) throw new DatabaseError(`PostgreSQL cannot be reached: ${messageOf(error)}.`, { cause: error });
    throw error instanceof DatabaseError
      ? error
      : new DatabaseError(`The database cannot be checked: ${messageOf(error)}.`, { cause: error });
  }
}

async function checkWritable(client: pg.PoolClient): Promise<void> {
  const { rows } = await client.query<{ standby: boolean; readonly: boolean }>(
    "SELECT pg_is_in_recovery() AS standby, current_setting('default_transaction_read_only')::boolean AS readonly",
  );
  if (rows[0]?.standby === true)
    throw new DatabaseError(
      'This PostgreSQL is a standby, which cannot be written to; name its primary in svc.database.url.',
    );
  if (rows[0]?.readonly === true)
    throw new DatabaseError(
      'This database is read only (default_transaction_read_only is on); switch that off for it or for its user.',
    );
}

async function checkSchema(
  client: pg.PoolClient,
  schema: string,
  migrations: readonly Migration[],
): Promise<CheckedSchema> {
  const steps = stepsOf(schema, migrations, {});
  const applied = await appliedSteps(client, schema);
  const pending = pendingSteps(steps, applied ?? []).map(({ name }) => name);
  const newer = (applied ?? [])
    .map(({ name }) => name)
    .filter((name) => !migrations.some((migration) => migration.name === name));
  if (pending.length > 0) await checkRights(client, schema, applied !== undefined);
  const { rows } = await client.query<{ held: boolean }>(
    `SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND objsubid = 1 AND (classid::bigint << 32 | objid::bigint) = ${migrationLock(schema)}) AS held`,
  );
  return {
    schema,
    applied: (applied ?? []).map(({ name }) => name),
    pending,
    newer,
    underWay: rows[0]?.held === true,
    inUseBy: pending.length === 0 ? [] : await tableUsers(client, schema),
  };
}

/** Undefined if the schema does not exist. */
async function appliedSteps(client: pg.PoolClient, schema: string): Promise<AppliedStep[] | undefined> {
  const { rows } = await client.query<{ columns: string[] }>(
    `SELECT ARRAY(SELECT attname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.relnamespace = n.oid AND c.relname = 'migration') AS columns
      FROM pg_namespace n WHERE nspname = $1`,
    [schema],
  );
  if (rows[0] === undefined) return undefined;
  const { columns } = rows[0];
  if (columns.length === 0) return [];
  // A table created by an earlier version lacks the column.
  const beside = columns.includes('beside') ? 'beside' : 'NULL AS beside';
  return (
    await client.query<AppliedStep>(
      `SELECT name, ${beside} FROM ${pg.escapeIdentifier(schema)}.migration ORDER BY name COLLATE "C"`,
    )
  ).rows;
}

async function checkRights(client: pg.PoolClient, schema: string, exists: boolean): Promise<void> {
  const right = exists ? "has_schema_privilege($1, 'CREATE')" : "has_database_privilege(current_database(), 'CREATE')";
  const { rows } = await client.query<{ user: string; database: string; may: boolean }>(
    `SELECT current_user::text AS user, current_database() AS database, ${right} AS may`,
    exists ? [schema] : [],
  );
  const { user, database, may } = rows[0] ?? { user: '', database: '', may: true };
  if (!may && exists)
    throw new DatabaseError(
      `User ${user} may not create tables in schema ${schema}; make the user its owner (ALTER SCHEMA ${schema} OWNER TO ${pg.escapeIdentifier(user)}).`,
    );
  if (!may)
    throw new DatabaseError(
      `User ${user} may not create the schema ${schema}; allow it (GRANT CREATE ON DATABASE ${pg.escapeIdentifier(database)} TO ${pg.escapeIdentifier(user)}), or create the schema for them.`,
    );
  // Only the owner may change a table or replace a function.
  const { rows: others } = await client.query<{ name: string; owner: string }>(
    `SELECT name, pg_get_userbyid(owner) AS owner FROM (
        SELECT c.relname AS name, c.relowner AS owner FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'S', 'v')
        UNION ALL SELECT p.proname, p.proowner FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = $1) AS made
      WHERE NOT pg_has_role(owner, 'USAGE') ORDER BY name LIMIT 1`,
    [schema],
  );
  const other = others[0];
  if (other !== undefined)
    throw new DatabaseError(
      `${schema}.${other.name} belongs to ${other.owner}, and only its owner can change it; migrate as ${other.owner}, or make ${user} the owner (REASSIGN OWNED).`,
    );
}

async function tableUsers(client: pg.PoolClient, schema: string): Promise<TableUser[]> {
  // Autovacuum yields to a session that waits for it.
  const { rows } = await client.query<TableUser>(
    `SELECT a.pid, a.application_name AS application, coalesce(a.usename, '') AS user, round(extract(epoch FROM clock_timestamp() - a.xact_start), 1)::float8 AS seconds
      FROM pg_stat_activity a
      WHERE a.pid <> pg_backend_pid() AND a.backend_type <> 'autovacuum worker' AND coalesce(a.xact_start < clock_timestamp() - $2 * interval '1 ms', true)
        AND EXISTS (SELECT FROM pg_locks l JOIN pg_class c ON c.oid = l.relation JOIN pg_namespace n ON n.oid = c.relnamespace
          WHERE l.pid = a.pid AND l.granted AND n.nspname = $1 AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))
      ORDER BY a.xact_start LIMIT 20`,
    [schema, tableLockTimeoutMs],
  );
  return rows;
}
