import type { Pool } from 'pg';
import { runTransaction } from '#pkg/database/index';
import { isLockTimeout, isStaleTable } from '../connection/database-failure.ts';
import { revisionLock } from '../connection/revision-lock.ts';
import { tableName, type Table } from './table.ts';

/**
 * Lock timeout. While a statement waits to change a table, all later statements on it wait too: give up soon and retry
 * in the next round. Milliseconds.
 */
const lockTimeoutMs = 200;

/** SQL: the managed fields of a row, '' for none. NULL if they are in the body, because the table has no column. */
export function managedSql({ hasManaged }: Pick<Table, 'hasManaged'>, row: string): string {
  return hasManaged ? `coalesce(${row}.managed, '')` : 'NULL::text';
}

/** SQL: the bytes of a row's body and managed fields. */
export function sizeSql({ hasManaged }: Pick<Table, 'hasManaged'>, row: string): string {
  return hasManaged
    ? `(octet_length(${row}.body) + coalesce(octet_length(${row}.managed), 0))`
    : `octet_length(${row}.body)`;
}

/** SQL: the columns `body` and `managed` of a row, NULL if together they have more than this many bytes. */
export function inlineColumns(table: Pick<Table, 'hasManaged'>, row: string, bytes: number): string {
  const inline = (sql: string): string => `CASE WHEN ${sizeSql(table, row)} <= ${bytes} THEN ${sql} END`;
  return `${inline(`${row}.body`)} AS body, ${inline(managedSql(table, row))} AS managed`;
}

/** Tables that an earlier release created: before there was the column, or next to this release. */
export async function tablesWithoutManaged(pool: Pool): Promise<number[]> {
  const { rows } = await pool.query<{ id: number }>('SELECT id FROM platform.models WHERE NOT has_managed ORDER BY id');
  return rows.map(({ id }) => id);
}

/**
 * Adds the column to an existing table, and tells writers by a new shape. Returns false if the table was in use and must
 * be retried.
 */
export async function addManagedColumn(pool: Pool, id: number): Promise<boolean> {
  try {
    await runTransaction(
      pool,
      async (client) => {
        await client.query(`ALTER TABLE ${tableName({ id })} ADD COLUMN IF NOT EXISTS managed text`);
        await client.query(`SELECT pg_advisory_xact_lock(${revisionLock})`);
        await client.query(
          'UPDATE platform.models SET has_managed = true, shape = shape + 1 WHERE id = $1 AND NOT has_managed',
          [id],
        );
      },
      {
        begin: `BEGIN; SET LOCAL lock_timeout = ${lockTimeoutMs}; SET LOCAL idle_in_transaction_session_timeout = 5000`,
      },
    );
    return true;
  } catch (error) {
    if (isLockTimeout(error)) return false;
    // The table was dropped meanwhile.
    if (isStaleTable(error)) return true;
    throw error;
  }
}
