import type { Pool, PoolClient } from 'pg';
import { isComputedIndex, pause, type GroupResource } from '#pkg/apimachinery/index';
import { runTransaction } from '#pkg/database/index';
import { StorageError } from '../../storage-error.ts';
import type { StoredModel } from '../../store.ts';
import { isLockTimeout } from '../connection/database-failure.ts';
import { revisionLock } from '../connection/revision-lock.ts';
import { planIndexes } from './plan-indexes.ts';
import { isLeaseTable, leaseHeld } from './lease-fence.ts';
import { limitTables } from './limited-tables.ts';
import { ownersTrigger } from './owner-elements.ts';
import { selectModel, type ModelRow, type TableCatalog } from './table-catalog.ts';
import { fillFactor, indexName, isNamespaceTable, sqlType, tableName, type Column, type Table } from './table.ts';

/** Lock for changes to the tables of models: one at a time over all replicas. */
const definitionLock = 818;
/**
 * Milliseconds. While a statement waits to change a table, all later statements on it wait too: give up soon and retry.
 */
const lockWaitMs = 200;
/** Shorter than the timeout of a request, including the wait for other changes. Milliseconds. */
const defaultLockTimeoutMs = 10_000;
const minPauseMs = 200;
const maxPauseMs = 2_000;
/** A process that freezes during a change loses its locks before the blocked writers give up. Milliseconds. */
const begin = 'BEGIN; SET LOCAL lock_timeout = 5000; SET LOCAL idle_in_transaction_session_timeout = 5000';
/**
 * With fastupdate, new entries would go to a pending list that every search scans: label searches would be slow after a
 * burst of writes.
 */
const ginOptions = 'WITH (fastupdate = off)';

const tableInUse =
  'the table of this model cannot be changed at present: a long transaction uses it, of a backup or a dump perhaps; try again when that is over';

/**
 * Creates, adapts and drops the tables of models. Every change that writers must know raises the shape under the
 * revision lock.
 */
export class TableDefiner {
  readonly #pool: Pool;
  readonly #catalog: TableCatalog;

  constructor(pool: Pool, catalog: TableCatalog) {
    this.#pool = pool;
    this.#catalog = catalog;
  }

  /**
   * Returns whether there are indexes to build or drop. StorageError TableInUse if a table cannot be changed within
   * `lockTimeoutMs`.
   */
  async ensure(model: StoredModel, lockTimeoutMs = defaultLockTimeoutMs): Promise<boolean> {
    const resource = { group: model.group, resource: model.names.plural };
    const unfinished = await withLockRetries(lockTimeoutMs, () =>
      this.#inTransaction(async (client) => {
        const { rows } = await client.query<ModelRow>(selectModel, [resource.group, resource.resource]);
        return rows[0] === undefined ? this.#create(client, model) : this.#adapt(client, rows[0], model);
      }),
    );
    this.#catalog.forget(resource);
    return unfinished;
  }

  /** Runs `work`, which changes limits and calls `limitTables`. StorageError TableInUse after `lockTimeoutMs`. */
  changeLimits(work: (client: PoolClient) => Promise<void>, lockTimeoutMs = defaultLockTimeoutMs): Promise<void> {
    return withLockRetries(lockTimeoutMs, () =>
      this.#inTransaction(async (client) => {
        await client.query(`SET LOCAL lock_timeout = ${lockWaitMs}`);
        await work(client);
      }),
    );
  }

  /**
   * Returns the number of the model's table, if it existed. The model is removed at once; a table that is being read is
   * left to `sweep`. With `ifEmpty`, a model with objects stays.
   */
  async drop(
    resource: GroupResource,
    ifEmpty: boolean,
  ): Promise<{ id: number; isTableGone: boolean } | 'no model' | 'has objects'> {
    const id = await this.#inTransaction(async (client) => {
      await client.query(`SELECT pg_advisory_xact_lock(${revisionLock})`);
      const { rows } = await client.query<{ id: number }>(
        'SELECT id FROM platform.models WHERE api_group = $1 AND resource = $2',
        [resource.group, resource.resource],
      );
      if (rows[0] === undefined) return 'no model';
      if (ifEmpty && (await hasObjects(client, rows[0]))) return 'has objects';
      await client.query('DELETE FROM platform.models WHERE id = $1', [rows[0].id]);
      await client.query(
        'INSERT INTO platform.dropped_models SELECT $1, $2, max(rev) FROM platform.change_log ON CONFLICT (api_group, resource) DO UPDATE SET rev = excluded.rev',
        [resource.group, resource.resource],
      );
      return rows[0].id;
    });
    this.#catalog.forget(resource);
    return typeof id === 'string' ? id : { id, isTableGone: await this.#dropTable({ id }) };
  }

  /**
   * Drops tables without a model: they were being read when the model was dropped, or the process died. Returns how
   * many are still being read.
   */
  async sweep(signal: AbortSignal): Promise<number> {
    const { rows } = await this.#pool.query<{ id: number }>(
      `SELECT substr(relname, 3)::int AS id FROM pg_class WHERE relnamespace = 'platform'::regnamespace AND relkind = 'r' AND relname ~ '^m_[0-9]+$'
         AND NOT EXISTS (SELECT FROM platform.models WHERE models.id = substr(relname, 3)::int)`,
    );
    let left = 0;
    for (const table of rows) {
      signal.throwIfAborted();
      if (!(await this.#dropTable(table))) left += 1;
    }
    return left;
  }

  /** Returns false if the table is being read. Checks again that no model has this number. */
  async #dropTable(table: Pick<Table, 'id'>): Promise<boolean> {
    try {
      await this.#inTransaction(async (client) => {
        const { rows } = await client.query('SELECT FROM platform.models WHERE id = $1', [table.id]);
        if (rows.length > 0) return;
        await client.query(`SET LOCAL lock_timeout = ${lockWaitMs}`);
        await client.query(`DROP TABLE IF EXISTS ${tableName(table)}`);
      });
      return true;
    } catch (error) {
      if (isLockTimeout(error)) return false;
      throw error;
    }
  }

  /** Changes the stored columns of a model; does nothing if the model was dropped meanwhile. */
  async changeColumns(
    resource: GroupResource,
    change: (columns: Column[], client: PoolClient, table: Pick<Table, 'id'>) => Promise<Column[]>,
  ): Promise<void> {
    await this.#inTransaction(async (client) => {
      const { rows } = await client.query<ModelRow>(selectModel, [resource.group, resource.resource]);
      const row = rows[0];
      if (row === undefined) return;
      const columns = await change(row.columns, client, row);
      if (columns !== row.columns) await saveColumns(client, row.id, columns);
    });
    this.#catalog.forget(resource);
  }

  async #create(client: PoolClient, model: StoredModel): Promise<boolean> {
    const { added, made } = planIndexes([], model.indexes, 0);
    const columns = added.map((column) => ({
      ...column,
      state: 'ready' as const,
      ...(isComputedIndex(column.index) ? { since: 0 } : {}),
    }));
    const { rows } = await client.query<{ id: number }>(
      `INSERT INTO platform.models (api_group, resource, namespaced, columns, columns_made, key_script, owners_indexed, has_managed, replaces)
         VALUES ($1, $2, $3, $4, $5, $6, true, true, coalesce((SELECT rev FROM platform.dropped_models WHERE api_group = $1 AND resource = $2), 0)) RETURNING id`,
      [
        model.group,
        model.names.plural,
        model.scope === 'Namespaced',
        JSON.stringify(columns),
        made,
        model.keyScript ?? null,
      ],
    );
    const table = { id: rows[0]!.id };
    const name = tableName(table);
    // A table of this number can only be left over from an incomplete restore of an older dump.
    await client.query(`DROP TABLE IF EXISTS ${name}`);
    await client.query(
      `CREATE TABLE ${name} (namespace text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL, rev bigint NOT NULL, uid uuid NOT NULL, ` +
        `created timestamptz NOT NULL, deleted timestamptz, labels text[] COLLATE "C" NOT NULL, fingerprint text NOT NULL, body text NOT NULL, managed text` +
        `${columns.map((column) => `, ${columnDefinition(column)}`).join('')}, PRIMARY KEY (namespace, name)) WITH (fillfactor = ${fillFactor})`,
    );
    await client.query(ownersTrigger(table));
    await client.query(`CREATE INDEX m_${table.id}_labels ON ${name} USING gin (labels) ${ginOptions}`);
    await client.query(`CREATE INDEX m_${table.id}_created ON ${name} (created NULLS FIRST, namespace, name)`);
    await client.query(`CREATE INDEX m_${table.id}_deleted ON ${name} (deleted NULLS FIRST, namespace, name)`);
    if (model.scope === 'Namespaced')
      await client.query(`CREATE INDEX m_${table.id}_name ON ${name} (name, namespace)`);
    for (const column of columns) for (const text of createIndexStatements(table, column)) await client.query(text);
    if (isNamespaceTable({ resource: { group: model.group, resource: model.names.plural } }))
      await client.query(namespaceExists(name));
    if (isLeaseTable({ resource: { group: model.group, resource: model.names.plural } }))
      await client.query(leaseHeld(name));
    await limitTables(client, { limited: true, emptyTable: table.id });
    return false;
  }

  async #adapt(client: PoolClient, row: ModelRow, model: Pick<StoredModel, 'indexes' | 'keyScript'>): Promise<boolean> {
    const plan = planIndexes(row.columns, model.indexes, row.columns_made);
    const failed = plan.columns.filter(({ state }) => state === 'failed');
    if (plan.unchanged && failed.length === 0) return row.columns.some(({ state }) => state !== 'ready');
    // The data may have been repaired since.
    const columns = plan.columns.map((column) =>
      column.state === 'failed' ? { name: column.name, index: column.index, state: 'building' as const } : column,
    );
    await client.query(`SET LOCAL lock_timeout = ${lockWaitMs}`);
    for (const { from, to } of plan.reused) for (const text of reuseTexts(row, from, to)) await client.query(text);
    for (const column of plan.added)
      await client.query(`ALTER TABLE ${tableName(row)} ADD COLUMN ${columnDefinition(column)}`);
    await client.query('UPDATE platform.models SET columns_made = $2, key_script = $3 WHERE id = $1', [
      row.id,
      plan.made,
      model.keyScript ?? null,
    ]);
    await saveColumns(client, row.id, columns);
    return true;
  }

  #inTransaction<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const locked = async (client: PoolClient): Promise<T> => {
      await client.query(`SELECT pg_advisory_xact_lock(${definitionLock})`);
      return work(client);
    };
    return runTransaction(this.#pool, locked, { begin });
  }
}

async function withLockRetries<T>(lockTimeoutMs: number, work: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + lockTimeoutMs;
  for (let pauseMs = minPauseMs; ; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
    try {
      return await work();
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      if (performance.now() + pauseMs > deadline) throw new StorageError('TableInUse', tableInUse, { cause: error });
      await pause(pauseMs);
    }
  }
}

/** Runs under the revision lock, which is acquired last: the next write sees the new shape. */
async function saveColumns(client: PoolClient, id: number, columns: readonly Column[]): Promise<void> {
  await client.query(`SELECT pg_advisory_xact_lock(${revisionLock})`);
  await client.query('UPDATE platform.models SET shape = shape + 1, columns = $2 WHERE id = $1', [
    id,
    JSON.stringify(await withSince(client, columns)),
  ]);
}

/** By an index, as a table whose objects were just deleted is long. */
async function hasObjects(client: PoolClient, table: Pick<Table, 'id'>): Promise<boolean> {
  await client.query('SET LOCAL enable_seqscan = off');
  const { rowCount } = await client.query(`SELECT FROM ${tableName(table)} LIMIT 1`);
  return rowCount !== 0;
}

/** Sets `since` on computed columns that become ready: from that revision on the log has their keys. */
async function withSince(client: PoolClient, columns: readonly Column[]): Promise<readonly Column[]> {
  const isNew = ({ index, state, since }: Column): boolean =>
    isComputedIndex(index) && state === 'ready' && since === undefined;
  if (!columns.some(isNew)) return columns;
  const { rows } = await client.query<{ newest: string }>('SELECT max(rev) AS newest FROM platform.change_log');
  const since = Number(rows[0]!.newest);
  return columns.map((column) => (isNew(column) ? { ...column, since } : column));
}

function columnDefinition({ name, index }: Column): string {
  const type = sqlType(index);
  const collation = index.type === 'string' ? ' COLLATE "C"' : '';
  // A row without keys has an empty set, even before it is filled: a constant default needs no rewrite.
  return index.multi ? `${name} ${type}[]${collation} NOT NULL DEFAULT '{}'` : `${name} ${type}${collation}`;
}

/**
 * Renames the column, so that statements with the old name fail. Its indexes are dropped: old values next to new ones
 * would cause false clashes.
 */
function reuseTexts(table: Pick<Table, 'id'>, from: string, to: Column): string[] {
  const indexes = (['order', 'unique'] as const).map((kind) => `platform.${indexName(table, from, kind)}`);
  return [
    `ALTER TABLE ${tableName(table)} RENAME COLUMN ${from} TO ${to.name}`,
    `DROP INDEX IF EXISTS ${indexes.join(', ')}`,
  ];
}

/** One statement per index: the ordering or GIN index, and the constraint if values are unique. */
export function createIndexStatements(
  table: Pick<Table, 'id'>,
  { name, index }: Column,
  concurrently = false,
): string[] {
  const create = (unique: boolean): string =>
    `CREATE ${unique ? 'UNIQUE ' : ''}INDEX ${concurrently ? 'CONCURRENTLY ' : ''}`;
  const on = `ON ${tableName(table)}`;
  if (index.multi) return [`${create(false)}${indexName(table, name)} ${on} USING gin (${name}) ${ginOptions}`];
  return [
    `${create(false)}${indexName(table, name)} ${on} (${name} NULLS FIRST, namespace, name)`,
    ...(index.unique ? [`${create(true)}${indexName(table, name, 'unique')} ${on} (${name})`] : []),
  ];
}

/** SQL function: false for a namespace that is being deleted, which accepts no new objects. */
export function namespaceExists(table: string): string {
  return `CREATE OR REPLACE FUNCTION platform.namespace_exists(wanted text, rev bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
    BEGIN RETURN EXISTS (SELECT FROM ${table} WHERE namespace = '' AND name = wanted AND deleted IS NULL); END $$`;
}
