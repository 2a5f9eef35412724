import { setTimeout as delay } from 'node:timers/promises';
import { sql, type Kysely } from 'kysely';
import type { Database } from '../database.ts';
import { DatabaseError, messageOf } from '../database-error.ts';
import { newKysely } from '../new-kysely.ts';
import { pendingSteps, stepsOf, type MigrateOptions, type Migration, type MigrationSteps } from './migration-steps.ts';

const lockTimeoutMs = 10 * 60_000;
/**
 * Wait for a table's lock, per attempt: all other statements on the table queue behind a statement that waits to change
 * it.
 */
export const tableLockTimeoutMs = 200;
/**
 * Limit between two statements of a step, where a process does almost nothing: a frozen or vanished one loses its
 * locks.
 */
const idleTimeoutMs = 10_000;
const minPauseMs = 200;
const maxPauseMs = 5_000;

type MigrationTables = { migration: { name: string; beside: string | null } };

/**
 * Brings a schema up to date and returns the names of the steps it ran; creates the schema if it is missing. Any number
 * of processes may run it at once: each step is one transaction under a lock, for which the others wait at most 10
 * minutes. A step that would have to wait for a user of a table is retried for as long, so running programs are not
 * blocked. Throws DatabaseError if a step fails, after undoing it, and if a newer version of the program migrated the
 * schema.
 */
export async function migrate(
  database: Database,
  schema: string,
  migrations: readonly Migration[],
  options: MigrateOptions = {},
): Promise<string[]> {
  const steps = stepsOf(schema, migrations, options);
  // A separate pool: a step may take longer than the statement limit of the main one.
  const pool = database.newPool({ name: 'migrations', max: 1 });
  const kysely = newKysely<unknown>(pool);
  const done: string[] = [];
  try {
    for (;;) {
      const name = await withLockRetries(() =>
        kysely.transaction().execute((transaction) => runAlone(transaction, steps)),
      );
      if (name === undefined) return done;
      done.push(name);
    }
  } catch (error) {
    throw explainError(schema, error);
  } finally {
    await pool.end();
  }
}

/**
 * The same within a transaction of the caller (a kysely over its one connection): all steps or none, and no one sees a
 * part of them. Afterwards the transaction's search path is the schema, its statements have no time limit, and it waits
 * 200 ms for a table's lock: a step that would wait longer fails.
 */
export async function migrateWithin(
  transaction: Kysely<unknown>,
  schema: string,
  migrations: readonly Migration[],
  options: MigrateOptions = {},
): Promise<string[]> {
  const steps = stepsOf(schema, migrations, options);
  const done: string[] = [];
  for (;;) {
    const name = await runNext(transaction, steps);
    if (name === undefined) return done;
    done.push(name);
  }
}

const readOnly = 'this PostgreSQL is a standby, or read only';

/** Describes errors other than a failed step: of the connection or of rights, and a read-only database. */
function explainError(schema: string, error: unknown): DatabaseError {
  if (error instanceof DatabaseError) return error;
  const { code } = error as { code?: string };
  return notUpToDate(schema, code === '25006' ? readOnly : messageOf(error), { cause: error });
}

function notUpToDate(schema: string, why: string, options?: ErrorOptions): DatabaseError {
  return new DatabaseError(`Schema ${schema} cannot be brought up to date: ${why}.`, options);
}

async function withLockRetries<T>(work: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + lockTimeoutMs;
  for (let pause = minPauseMs; ; pause = Math.min(pause * 2, maxPauseMs)) {
    try {
      return await work();
    } catch (error) {
      if (!isLockTimeout(error) || performance.now() > deadline) throw error;
      await delay(pause);
    }
  }
}

function isLockTimeout(error: unknown): boolean {
  const { cause } = error as DatabaseError;
  return ((error instanceof DatabaseError ? cause : error) as { code?: string } | undefined)?.code === '55P03';
}

/** Runs the next step in its own transaction, which ends if this process freezes or its connection is lost. */
async function runAlone(transaction: Kysely<unknown>, steps: MigrationSteps): Promise<string | undefined> {
  await sql`SELECT set_config('idle_in_transaction_session_timeout', ${String(idleTimeoutMs)}, true), set_config('tcp_keepalives_idle', '30', true),
    set_config('tcp_keepalives_interval', '10', true), set_config('tcp_keepalives_count', '3', true)`.execute(
    transaction,
  );
  return runNext(transaction, steps);
}

async function runNext(transaction: Kysely<unknown>, steps: MigrationSteps): Promise<string | undefined> {
  const { schema } = steps;
  await lockSchema(transaction, schema);
  const table = await openMigrationTable(transaction, schema);
  const applied = await table
    .selectFrom('migration')
    .select(['name', 'beside'])
    .orderBy(sql`name COLLATE "C"`)
    .execute();
  const next = pendingSteps(steps, applied)[0];
  if (next === undefined) return undefined;
  try {
    await next.up(transaction.withSchema(schema));
  } catch (error) {
    throw new DatabaseError(`Migration ${next.name} of schema ${schema} failed and was undone: ${messageOf(error)}.`, {
      cause: error,
    });
  }
  await table
    .insertInto('migration')
    .values({ name: next.name, beside: next.beside ?? null })
    .execute();
  return next.name;
}

/** The key of the advisory lock (`pg_advisory_xact_lock`) of each step, so that two processes never run one at once. */
export const migrationLock = (schema: string): string => `hashtextextended('svc migration of ${schema}', 0)`;

/** Takes the lock of migrations. A step has no time limit, whatever limit the user's role has. */
async function lockSchema(transaction: Kysely<unknown>, schema: string): Promise<void> {
  await sql`SELECT set_config('lock_timeout', ${String(lockTimeoutMs)}, true), set_config('statement_timeout', '0', true), set_config('search_path', ${schema}, true)`.execute(
    transaction,
  );
  await sql`SELECT pg_advisory_xact_lock(${sql.raw(migrationLock(schema))})`.execute(transaction);
  await sql`SELECT set_config('lock_timeout', ${String(tableLockTimeoutMs)}, true)`.execute(transaction);
}

/** Checks before it creates: a user without the right to create schemas or tables may use existing ones. */
async function openMigrationTable(transaction: Kysely<unknown>, schema: string): Promise<Kysely<MigrationTables>> {
  const { rows } = await sql<{ there: boolean; isReadOnly: boolean }>`
    SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = ${schema}) AS there, current_setting('transaction_read_only')::boolean AS "isReadOnly"`.execute(
    transaction,
  );
  // Even if nothing is pending: a caller that migrates writes next.
  if (rows[0]!.isReadOnly) throw notUpToDate(schema, readOnly);
  if (!rows[0]!.there) await sql`CREATE SCHEMA ${sql.id(schema)}`.execute(transaction);
  const { rows: columns } = await sql<{
    name: string;
  }>`SELECT attname AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = ${schema}::regnamespace AND c.relname = 'migration'`.execute(transaction);
  if (columns.length === 0) await createMigrationTable(transaction, schema);
  // An earlier version created it.
  else if (columns.every(({ name }) => name !== 'beside'))
    await transaction.schema.withSchema(schema).alterTable('migration').addColumn('beside', 'text').execute();
  return transaction.withSchema(schema).withTables<MigrationTables>();
}

async function createMigrationTable(transaction: Kysely<unknown>, schema: string): Promise<void> {
  await transaction.schema
    .withSchema(schema)
    .createTable('migration')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('applied', 'timestamptz', (column) => column.notNull().defaultTo(sql`now()`))
    .addColumn('beside', 'text')
    .execute();
}
