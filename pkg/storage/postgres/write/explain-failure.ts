import type { Pool } from 'pg';
import { formatGroupResource } from '#pkg/apimachinery/index';
import { StorageError } from '../../storage-error.ts';
import { newFenceLost, fenceValues } from '../table/lease-fence.ts';
import { toSqlValue } from '../table/sql-value.ts';
import { indexName, sqlType, tableName, isNamespaceTable } from '../table/table.ts';
import type { BatchOperation } from './batch-operation.ts';
import { explainQuota } from './explain-quota.ts';

/**
 * Finds out by reading why an operation was not written; undefined if nothing prevents it any more.
 * `found` is the revision of the row that the statement locked.
 */
export async function explainFailure(
  pool: Pool,
  operation: BatchOperation,
  found: number | undefined,
): Promise<StorageError | undefined> {
  if (operation.type === 'C') return explainCreate(pool, operation);
  if (found === undefined) return notFound(operation);
  if (found !== operation.from?.revision) return conflict(operation);
  if (
    operation.type === 'D' &&
    isNamespaceTable(operation.table) &&
    (await holds(pool, 'SELECT platform.namespace_in_use($1, 0) AS holds', [operation.name]))
  ) {
    return new StorageError('NamespaceNotEmpty', `namespace "${operation.name}" still holds objects`);
  }
  return explainQuota(pool, operation);
}

/** Checks a write without writing: the checks of a dry run. */
export async function explainDryRun(pool: Pool, operation: BatchOperation): Promise<StorageError | undefined> {
  const { fence } = operation;
  if (
    fence !== undefined &&
    !(await holds(pool, 'SELECT platform.lease_held($1, $2, $3) AS holds', fenceValues(fence)))
  )
    return newFenceLost(fence);
  if (operation.type === 'C') return explainCreate(pool, operation);
  const { rows } = await pool.query<{ rev: string }>(
    `SELECT rev FROM ${tableName(operation.table)} WHERE namespace = $1 AND name = $2`,
    [operation.namespace, operation.name],
  );
  const found = rows[0] === undefined ? undefined : Number(rows[0].rev);
  return (
    (await explainFailure(pool, operation, found)) ??
    (operation.type === 'U' ? explainUniqueClash(pool, operation) : undefined)
  );
}

async function explainCreate(pool: Pool, operation: BatchOperation): Promise<StorageError | undefined> {
  const table = tableName(operation.table);
  if (
    await holds(pool, `SELECT EXISTS (SELECT FROM ${table} WHERE namespace = $1 AND name = $2) AS holds`, [
      operation.namespace,
      operation.name,
    ])
  ) {
    return alreadyExists(operation);
  }
  if (
    operation.table.namespaced &&
    !(await holds(pool, 'SELECT platform.namespace_exists($1, 0) AS holds', [operation.namespace]))
  ) {
    return new StorageError('NamespaceNotFound', `namespace "${operation.namespace}" not found`);
  }
  return (await explainUniqueClash(pool, operation)) ?? explainQuota(pool, operation);
}

async function explainUniqueClash(pool: Pool, operation: BatchOperation): Promise<StorageError | undefined> {
  const { table } = operation;
  for (const [i, column] of table.columns.entries()) {
    const value = toSqlValue(operation.keys[i], column.index.type === 'date');
    if (!column.index.unique || column.state === 'failed' || value === null) continue;
    // While a column is being refilled it also has old keys: values can clash only once the index exists.
    const inForce =
      column.state === 'ready'
        ? 'true'
        : `to_regclass('platform.${indexName(table, column.name, 'unique')}') IS NOT NULL`;
    const text = `SELECT ${inForce} AND EXISTS (SELECT FROM ${tableName(table)} WHERE ${column.name} = $1::${sqlType(column.index)} AND (namespace, name) <> ($2, $3)) AS holds`;
    if (await holds(pool, text, [value, operation.namespace, operation.name])) return uniqueClash(column.index.name);
  }
  return undefined;
}

/** Translates the constraint on its table that a single operation violated. */
export function constraintFailure(operation: BatchOperation, constraint: string): StorageError {
  const { table } = operation;
  const column = table.columns.find(({ name }) => indexName(table, name, 'unique') === constraint);
  return column === undefined ? alreadyExists(operation) : uniqueClash(column.index.name);
}

async function holds(pool: Pool, text: string, values: unknown[]): Promise<boolean> {
  const { rows } = await pool.query<{ holds: boolean }>(text, values);
  return rows[0]?.holds === true;
}

function alreadyExists({ table, name }: BatchOperation): StorageError {
  return new StorageError('AlreadyExists', `${formatGroupResource(table.resource)} "${name}" already exists`);
}

function notFound({ table, name }: BatchOperation): StorageError {
  return new StorageError('NotFound', `${formatGroupResource(table.resource)} "${name}" not found`);
}

function conflict({ table, name }: BatchOperation): StorageError {
  return new StorageError('Conflict', `${formatGroupResource(table.resource)} "${name}" has been modified`);
}

function uniqueClash(index: string): StorageError {
  return new StorageError('UniqueClash', `another object has the same value of the unique index ${index}`, { index });
}
