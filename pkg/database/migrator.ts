import { setTimeout as delay } from 'node:timers/promises';
import { Kysely, PostgresDialect, sql, type Transaction } from 'kysely';
import type { Database } from './database.ts';
import { DatabaseError, messageOf } from './database-error.ts';

const LOCK_WAIT_MS = 10 * 60_000;
/** For a table's lock, at a time: behind a statement that waits to change a table everybody else waits too. */
const TABLE_LOCK_WAIT_MS = 200;
const SHORTEST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5_000;

/** One step of a schema, run once in its life and never changed afterwards. */
export interface Migration {
  /** `0001_objects`: four digits, then words; the order of names is the order of steps. */
  readonly name: string;
  /**
   * Runs inside a transaction whose search path is the schema: builders and raw SQL without a schema land in it.
   * The path is not kept with functions and triggers; in their bodies, write the schema out.
   */
  up(db: Kysely<unknown>): Promise<void>;
}

type MigrationTables = { migration: { name: string } };

/**
 * Brings a schema up to date and returns the names of the steps it ran; creates the schema where it is missing.
 * Any number of processes may do so at once: each step is one transaction under a lock that the others wait for, 10 minutes at most.
 * For as long a step is tried again that has to wait for somebody who uses a table: a program that is running goes on meanwhile.
 * Throws DatabaseError when a step fails, with that step undone, and when the schema was migrated by a newer version of the program.
 */
export async function migrate(database: Database, schema: string, migrations: readonly Migration[]): Promise<string[]> {
  checkNames(schema, migrations);
  // A pool of its own: a step may take longer than the statement limit of the main one.
  const pool = database.newPool({ max: 1 });
  const kysely = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) });
  const done: string[] = [];
  try {
    for (;;) {
      const name = await withLockRetries(() => kysely.transaction().execute((transaction) => runNext(transaction, schema, migrations)));
      if (name === undefined) return done;
      done.push(name);
    }
  } finally {
    await pool.end();
  }
}

async function withLockRetries<T>(work: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + LOCK_WAIT_MS;
  for (let pause = SHORTEST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
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

async function runNext(transaction: Transaction<unknown>, schema: string, migrations: readonly Migration[]): Promise<string | undefined> {
  await lockSchema(transaction, schema);
  const table = await openMigrationTable(transaction, schema);
  const applied = await table.selectFrom('migration').select('name').orderBy('name').execute();
  const next = nextMigration(schema, migrations, applied.map(({ name }) => name));
  if (next === undefined) return undefined;
  try {
    await next.up(transaction.withSchema(schema));
  } catch (error) {
    throw new DatabaseError(`Migration ${next.name} of schema ${schema} failed and was undone: ${messageOf(error)}.`, { cause: error });
  }
  await table.insertInto('migration').values({ name: next.name }).execute();
  return next.name;
}

/** A step may take as long as it does, whatever limit the user's role has. */
async function lockSchema(transaction: Transaction<unknown>, schema: string): Promise<void> {
  await sql`SELECT set_config('lock_timeout', ${String(LOCK_WAIT_MS)}, true), set_config('statement_timeout', '0', true), set_config('search_path', ${schema}, true)`.execute(transaction);
  await sql`SELECT pg_advisory_xact_lock(hashtextextended(${`svc migration of ${schema}`}, 0))`.execute(transaction);
  await sql`SELECT set_config('lock_timeout', ${String(TABLE_LOCK_WAIT_MS)}, true)`.execute(transaction);
}

/** Asks before creating: a user without the right to create schemas may work in one made for it. */
async function openMigrationTable(transaction: Transaction<unknown>, schema: string): Promise<Transaction<MigrationTables>> {
  const { rows } = await sql`SELECT 1 FROM pg_namespace WHERE nspname = ${schema}`.execute(transaction);
  if (rows.length === 0) await sql`CREATE SCHEMA ${sql.id(schema)}`.execute(transaction);
  await transaction.schema
    .withSchema(schema)
    .createTable('migration')
    .ifNotExists()
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('applied', 'timestamptz', (column) => column.notNull().defaultTo(sql`now()`))
    .execute();
  return transaction.withSchema(schema).withTables<MigrationTables>();
}

function nextMigration(schema: string, migrations: readonly Migration[], applied: readonly string[]): Migration | undefined {
  const known = new Set(migrations.map(({ name }) => name));
  const newer = applied.find((name) => !known.has(name));
  if (newer !== undefined) {
    throw new DatabaseError(`Schema ${schema} was migrated by a newer version of this program (${newer} is not known here); run that version.`);
  }
  const next = migrations[applied.length];
  if (applied.some((name, index) => name !== migrations[index]?.name)) {
    throw new DatabaseError(`Schema ${schema} lacks a migration that comes before ${applied.at(-1)}; it was migrated by a different line of this program.`);
  }
  return next;
}

function checkNames(schema: string, migrations: readonly Migration[]): void {
  if (!/^[a-z][a-z0-9_]{0,62}$/.test(schema)) throw new DatabaseError(`${schema} is not the name of a schema.`);
  for (const [index, { name }] of migrations.entries()) {
    const previous = migrations[index - 1]?.name ?? '';
    if (!/^\d{4}_[a-z0-9_]+$/.test(name) || name.slice(0, 4) <= previous.slice(0, 4)) {
      throw new DatabaseError(`Migration ${name} of schema ${schema} is misnamed or out of order.`);
    }
  }
}
