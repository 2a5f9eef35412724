import type { Pool } from 'pg';
import {
  extractIndexKeys,
  formatGroupResource,
  isComputedIndex,
  pause,
  type ApiObject,
  type GroupResource,
  type IndexKey,
} from '#pkg/apimachinery/index';
import type { Database, DatabaseLog } from '#pkg/database/index';
import { classifyFailure, isStaleTable, violatedConstraint } from '../connection/database-failure.ts';
import { estimatedRows } from '../measure-store.ts';
import { revisionLock } from '../connection/revision-lock.ts';
import { SessionLock } from '../connection/session-lock.ts';
import { toSqlValue, arrayLiteral } from '../table/sql-value.ts';
import type { TableCatalog } from '../table/table-catalog.ts';
import { addManagedColumn, tablesWithoutManaged } from '../table/managed-column.ts';
import { createIndexStatements, type TableDefiner } from '../table/table-definer.ts';
import { sqlType, tableName, type Column, type Table } from '../table/table.ts';
import type { IndexState } from '../../store.ts';
import { BuildProgress } from './build-progress.ts';
import type { KeyComputer } from './key-computer.ts';
import { indexOwners, tablesWithoutOwners } from './index-owners.ts';

/** Rows, and bytes of their bodies, that are read at a time and written per acquisition of the revision lock. */
const stepRows = 200;
const stepBytes = 2 * 1024 * 1024;
const retryPauseMs = 2000;

/**
 * Builds indexes for existing data: fills their columns step by step, builds them without blocking writers, and drops
 * undeclared ones. One replica at a time works on a model; another replica that finds it locked retries after a pause.
 */
export class IndexBuilder {
  readonly #database: Database;
  readonly #pool: Pool;
  readonly #definer: TableDefiner;
  readonly #catalog: TableCatalog;
  readonly #computer: KeyComputer;
  readonly #log: DatabaseLog;
  readonly #running = new Map<string, Promise<void>>();
  /** The index that is being built here, by model. */
  readonly #builds = new Map<string, BuildProgress>();
  readonly #stopping = new AbortController();
  #isSweepTold = false;
  /** Did tables lack the column for managed fields in the last round? */
  #lackedManaged = false;

  constructor(options: {
    database: Database;
    pool: Pool;
    definer: TableDefiner;
    catalog: TableCatalog;
    computer: KeyComputer;
    log: DatabaseLog;
  }) {
    this.#database = options.database;
    this.#pool = options.pool;
    this.#definer = options.definer;
    this.#catalog = options.catalog;
    this.#computer = options.computer;
    this.#log = options.log;
  }

  /** Starts in the background and runs until nothing is left to do or `stop` is called. */
  start(resource: GroupResource): void {
    this.#begin(formatGroupResource(resource), () => this.#round(resource));
  }

  /** The state of every index of a model. Also starts to build those that are not ready. */
  async states({ resource, columns }: Table): Promise<IndexState[]> {
    const states = columns.map(
      ({ index, state, message }) =>
        ({ name: index.name, state, ...(message === undefined ? {} : { message }) }) as IndexState,
    );
    if (states.every(({ state }) => state !== 'building')) return states;
    // The replica that began to build them may be gone.
    this.start(resource);
    const build = this.#builds.get(formatGroupResource(resource));
    const progress = await build?.read(this.#pool);
    if (progress === undefined) return states;
    return states.map((each) =>
      each.name === build!.index && each.state === 'building' ? { ...each, progress } : each,
    );
  }

  /** Starts the build of an index on the change log that the migration left out, because it would block writers. */
  startLog(): void {
    this.#begin('the change log', () => this.#logRound());
  }

  /** Starts to index the owners of objects in tables that an earlier release created. */
  startOwners(): void {
    this.#begin('the owners of objects', () => this.#ownersRound());
  }

  /** Starts to give the tables that an earlier release created a column for managed fields. */
  startManaged(): void {
    this.#begin('the managed fields of objects', () => this.#managedRound());
  }

  /** Starts to drop the tables of removed models, each as soon as no transaction reads it. */
  startSweep(): void {
    this.#begin('the tables of dropped models', () => this.#sweepRound());
  }

  #begin(key: string, round: () => Promise<boolean>): void {
    if (this.#running.has(key) || this.#stopping.signal.aborted) return;
    const work = this.#work(key, round).finally(() => this.#running.delete(key));
    this.#running.set(key, work);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#running.values());
  }

  /** Repeats `round` until it returns that nothing is left to do. */
  async #work(key: string, round: () => Promise<boolean>): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      try {
        if (await round()) return;
      } catch (error) {
        if (!this.#stopping.signal.aborted)
          this.#log.warn({ err: error, model: key }, 'an index could not be built yet; trying again');
      }
      await pause(retryPauseMs, this.#stopping.signal);
    }
  }

  /** Returns true when nothing is left to do. A session lock on a connection of its own keeps other replicas away. */
  async #round(resource: GroupResource): Promise<boolean> {
    this.#catalog.forget(resource);
    const table = await this.#catalog.find(resource);
    if (table === undefined) return true;
    const lock = await SessionLock.open(this.#database);
    try {
      const { rows } = await lock.query<{ locked: boolean }>('SELECT pg_try_advisory_lock(817, $1) AS locked', [
        table.id,
      ]);
      if (rows[0]?.locked !== true) return false;
      for (const column of table.columns) {
        if (column.state !== 'building') continue;
        const progress = new BuildProgress(column.index.name);
        this.#builds.set(formatGroupResource(resource), progress);
        await this.#build(lock, table, column, progress);
      }
      await this.#dropUnused(resource);
    } finally {
      this.#builds.delete(formatGroupResource(resource));
      await lock.release();
    }
    // Indexes declared during this round are built in the next one.
    this.#catalog.forget(resource);
    return (await this.#catalog.find(resource))?.columns.every(({ state }) => state !== 'building') ?? true;
  }

  async #logRound(): Promise<boolean> {
    if (await isValid(this.#pool, 'change_log_model')) return true;
    const lock = await SessionLock.open(this.#database);
    try {
      const { rows } = await lock.query<{ locked: boolean }>('SELECT pg_try_advisory_lock(817, 0) AS locked');
      if (rows[0]?.locked !== true) return false;
      await this.#cancellable(lock, () =>
        createIndex(
          lock,
          'CREATE INDEX CONCURRENTLY change_log_model ON platform.change_log (model, rev)',
          this.#stopping.signal,
        ),
      );
      return true;
    } finally {
      await lock.release();
    }
  }

  async #ownersRound(): Promise<boolean> {
    if ((await tablesWithoutOwners(this.#pool)).length === 0) return true;
    const lock = await SessionLock.open(this.#database);
    try {
      const { rows } = await lock.query<{ locked: boolean }>('SELECT pg_try_advisory_lock(817, -1) AS locked');
      if (rows[0]?.locked !== true) return false;
      const signal = AbortSignal.any([lock.lost, this.#stopping.signal]);
      let isDone = true;
      for (const id of await tablesWithoutOwners(this.#pool))
        isDone = (await indexOwners(this.#pool, id, signal)) && isDone;
      return isDone;
    } finally {
      await lock.release();
    }
  }

  /** Runs on every replica until no table lacks the column: their caches of tables must learn it, too. */
  async #managedRound(): Promise<boolean> {
    const ids = await tablesWithoutManaged(this.#pool);
    for (const id of ids) {
      this.#stopping.signal.throwIfAborted();
      await addManagedColumn(this.#pool, id);
    }
    if (ids.length > 0 || this.#lackedManaged) this.#catalog.forgetAll();
    this.#lackedManaged = ids.length > 0;
    return ids.length === 0;
  }

  /** Drops that PostgreSQL refuses, for example of a table of another owner, are retried at the next start. */
  async #sweepRound(): Promise<boolean> {
    try {
      const left = await this.#definer.sweep(this.#stopping.signal);
      if (left > 0 && !this.#isSweepTold)
        this.#log.info(
          { tables: left },
          'tables of deleted definitions are still being read, for example by a backup; they are dropped later',
        );
      this.#isSweepTold = left > 0;
      return left === 0;
    } catch (error) {
      if (classifyFailure(error) !== 'refused') throw error;
      this.#log.warn({ err: error }, 'a table of a deleted definition cannot be dropped');
      return true;
    }
  }

  async #build(lock: SessionLock, table: Table, column: Column, progress: BuildProgress): Promise<void> {
    let message = await this.#fill(lock, table, column, progress);
    for (const text of createIndexStatements(table, column, true)) {
      message ??= await this.#cancellable(lock, (pid) => {
        progress.creating(pid);
        return createIndex(lock, text, this.#stopping.signal);
      });
    }
    lock.lost.throwIfAborted();
    await this.#definer.changeColumns(table.resource, async (columns) =>
      columns.map((known) =>
        known.name === column.name && known.state === 'building' ? finished(known, message) : known,
      ),
    );
  }

  /**
   * Fills a column for rows written before the column existed; rows written since, or filled by an interrupted run,
   * already have it. Returns why an object's keys cannot be computed.
   */
  async #fill(lock: SessionLock, table: Table, column: Column, progress: BuildProgress): Promise<string | undefined> {
    let after = { namespace: '', name: '' };
    const total = await estimateRows(this.#pool, table);
    let done = 0;
    progress.filled(done, total);
    for (;;) {
      this.#stopping.signal.throwIfAborted();
      lock.lost.throwIfAborted();
      const { rows } = await this.#pool.query<FillRow>(
        `SELECT namespace, name, rev, terminating, body FROM (SELECT *, sum(octet_length(body)) OVER (ORDER BY namespace, name) - octet_length(body) AS before FROM (` +
          `SELECT namespace, name, rev, deleted IS NOT NULL AS terminating, body FROM ${tableName(table)} WHERE (namespace, name) > ($1, $2) ORDER BY namespace, name LIMIT ${stepRows}) step) sized ` +
          `WHERE before < ${stepBytes} ORDER BY namespace, name`,
        [after.namespace, after.name],
      );
      if (rows.length === 0) return undefined;
      const { keys, faults } = await this.#keysOf(table, column, rows);
      await this.#fillRows(table, column, rows, keys);
      for (const fault of faults)
        if (await this.#isPresent(table, fault))
          return `the function fails for ${[fault.namespace, fault.name].filter((part) => part !== '').join('/')}`;
      after = rows.at(-1)!;
      done += rows.length;
      progress.filled(done, total);
    }
  }

  /**
   * A value that the index cannot hold counts as absent. `faults` are the objects that a function fails for, except
   * objects that are being deleted: readers of a definition need not see those errors.
   */
  async #keysOf(
    table: Table,
    { index, ...column }: Column,
    rows: readonly FillRow[],
  ): Promise<{ keys: IndexKey[]; faults: FillRow[] }> {
    if (!isComputedIndex(index))
      return {
        keys: rows.map((row) => extractIndexKeys([index], JSON.parse(row.body) as ApiObject).keys[0]!),
        faults: [],
      };
    const computed = await this.#computer.ofBodies(
      table,
      [{ index, ...column }],
      rows.map(({ body }) => body),
    );
    // Another replica changed the declared indexes: the next round begins with them.
    if (computed === undefined) throw new Error('the functions of this index have changed');
    const faults = rows.filter((row, i) => !row.terminating && computed[i]!.isFault);
    return { keys: computed.map(({ keys }) => keys[index.computed.id]!), faults };
  }

  /** Is the row unchanged? A row written since was checked by its own write. */
  async #isPresent(table: Table, { namespace, name, rev }: FillRow): Promise<boolean> {
    const { rows } = await this.#pool.query(
      `SELECT FROM ${tableName(table)} WHERE namespace = $1 AND name = $2 AND rev = $3`,
      [namespace, name, rev],
    );
    return rows.length > 0;
  }

  async #fillRows(
    table: Table,
    { name, index }: Column,
    rows: readonly FillRow[],
    keys: readonly IndexKey[],
  ): Promise<void> {
    const type = sqlType(index);
    const isDate = index.type === 'date';
    const filled = `held.value${index.multi ? `::${type}[]` : ''}`;
    const values = keys.map((key) =>
      Array.isArray(key)
        ? arrayLiteral(key.map((value) => String(toSqlValue(value, isDate))))
        : index.multi
          ? '{}'
          : toSqlValue(key, isDate),
    );
    await this.#pool.query(
      `WITH filled AS MATERIALIZED (SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::${index.multi ? 'text' : type}[]) AS f(namespace, name, rev, value)), ` +
        // Rows are locked first and in key order, then the revision lock, as in a batch: no deadlock between the two.
        `held AS MATERIALIZED (SELECT m.namespace, m.name, filled.value FROM filled JOIN ${tableName(table)} m ON m.namespace = filled.namespace AND m.name = filled.name ` +
        `WHERE m.rev = filled.rev AND m.${name} IS DISTINCT FROM filled.value${index.multi ? `::${type}[]` : ''} ORDER BY m.namespace, m.name FOR UPDATE OF m), ` +
        `locked AS MATERIALIZED (SELECT pg_advisory_xact_lock(${revisionLock}) FROM (SELECT count(*) AS n FROM held) h WHERE n > 0) ` +
        `UPDATE ${tableName(table)} m SET ${name} = ${filled} FROM held, locked WHERE m.namespace = held.namespace AND m.name = held.name`,
      [rows.map((row) => row.namespace), rows.map((row) => row.name), rows.map((row) => row.rev), values],
    );
  }

  /** Cancels the statement on `stop`: it may wait for other transactions and would block `stop`. */
  async #cancellable<T>(lock: SessionLock, work: (pid: number) => Promise<T>): Promise<T> {
    const { signal } = this.#stopping;
    const { rows } = await lock.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const { pid } = rows[0]!;
    let cancelling: Promise<unknown> | undefined;
    const cancel = (): void => {
      cancelling = this.#pool.query('SELECT pg_cancel_backend($1)', [pid]).catch(() => undefined);
    };
    signal.addEventListener('abort', cancel, { once: true });
    try {
      signal.throwIfAborted();
      return await work(pid);
    } finally {
      signal.removeEventListener('abort', cancel);
      await cancelling;
    }
  }

  async #dropUnused(resource: GroupResource): Promise<void> {
    try {
      await this.#definer.changeColumns(resource, async (columns, client, table) => {
        const unused = columns.filter(({ state }) => state === 'dropping');
        if (unused.length === 0) return columns;
        await client.query('SET LOCAL lock_timeout = 200');
        for (const { name } of unused)
          await client.query(`ALTER TABLE ${tableName(table)} DROP COLUMN IF EXISTS ${name}`);
        return columns.filter(({ state }) => state !== 'dropping');
      });
    } catch (error) {
      if (!isStaleTable(error)) throw error;
    }
  }
}

interface FillRow {
  namespace: string;
  name: string;
  rev: string;
  terminating: boolean;
  body: string;
}

/** A count would take long in a large table, and the role may have a statement timeout. */
async function estimateRows(pool: Pool, table: Table): Promise<number> {
  const text = `SELECT ${estimatedRows(`'${tableName(table)}'::regclass`)} AS rows`;
  return Number((await pool.query<{ rows: string }>(text)).rows[0]!.rows);
}

function finished({ name, index }: Column, message: string | undefined): Column {
  return message === undefined ? { name, index, state: 'ready' } : { name, index, state: 'failed', message };
}

/**
 * Returns why the index cannot be built, if the data is the cause. An interrupted attempt leaves an invalid index,
 * which is dropped first; a valid one is kept.
 */
async function createIndex(lock: SessionLock, text: string, signal: AbortSignal): Promise<string | undefined> {
  // A cancel stops only the running statement: later ones must not start.
  const run = async (statement: string): Promise<void> => {
    signal.throwIfAborted();
    await lock.run(statement);
  };
  const name = /CONCURRENTLY (\S+) ON/.exec(text)![1]!;
  if (await isValid(lock, name)) return undefined;
  const drop = `DROP INDEX CONCURRENTLY IF EXISTS platform.${name}`;
  await run('SET lock_timeout = 0');
  await run(drop);
  try {
    await run(text);
    return undefined;
  } catch (error) {
    if (violatedConstraint(error) === undefined) throw error;
    await run(drop);
    return 'several objects have the same value';
  }
}

async function isValid(session: { query(text: string): Promise<{ rows: object[] }> }, name: string): Promise<boolean> {
  const { rows } = await session.query(
    `SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = to_regclass('platform.${name}')`,
  );
  return rows.some((row) => 'valid' in row && row.valid === true);
}
