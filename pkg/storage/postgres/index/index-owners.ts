import type { Pool } from 'pg';
import { runTransaction } from '#pkg/database/index';
import { isLockTimeout, isStaleTable } from '../connection/database-failure.ts';
import { lacksOwners, ownersTrigger } from '../table/owner-elements.ts';
import { tableName } from '../table/table.ts';

/** Rows scanned per statement; no row leaves the database. */
const stepRows = 500;
/**
 * Lock timeout. While a statement waits to change a table, all later statements on it wait too: give up soon and retry
 * in the next round. Milliseconds.
 */
const lockTimeoutMs = 200;

/**
 * Tables whose rows may lack their owners: tables created before the index on owners existed, or by a replica of such a
 * release.
 */
export async function tablesWithoutOwners(pool: Pool): Promise<number[]> {
  const { rows } = await pool.query<{ id: number }>(
    'SELECT id FROM platform.models WHERE NOT owners_indexed ORDER BY id',
  );
  return rows.map(({ id }) => id);
}

/**
 * Adds the index on owners to an existing table: first the trigger, so that all later writes maintain it; then the
 * rows, step by step; then the table is marked as indexed. Returns false if the table was in use and must be retried.
 * May be interrupted and repeated at any point.
 */
export async function indexOwners(pool: Pool, id: number, signal: AbortSignal): Promise<boolean> {
  try {
    await addTrigger(pool, id);
    let after: Position | undefined = { namespace: '', name: '' };
    while (after !== undefined) {
      signal.throwIfAborted();
      after = await fillStep(pool, id, after);
    }
    await pool.query('UPDATE platform.models SET owners_indexed = true WHERE id = $1', [id]);
    return true;
  } catch (error) {
    if (isLockTimeout(error)) return false;
    // The table was dropped meanwhile.
    if (isStaleTable(error)) return true;
    throw error;
  }
}

interface Position {
  namespace: string;
  name: string;
}

async function addTrigger(pool: Pool, id: number): Promise<void> {
  await runTransaction(pool, (client) => client.query(ownersTrigger({ id })), {
    begin: `BEGIN; SET LOCAL lock_timeout = ${lockTimeoutMs}`,
  });
}

/**
 * Updates the rows that lack their owners, so that the trigger adds them. Rows are locked in key order, as in a batch.
 */
async function fillStep(pool: Pool, id: number, { namespace, name }: Position): Promise<Position | undefined> {
  const m = tableName({ id });
  const { rows } = await pool.query<Position>(
    `WITH step AS MATERIALIZED (SELECT r.namespace, r.name, ${lacksOwners('r')} AS lacking FROM ${m} r WHERE (r.namespace, r.name) > ($1, $2) ORDER BY r.namespace, r.name LIMIT ${stepRows}), ` +
      `held AS MATERIALIZED (SELECT m.namespace, m.name FROM step JOIN ${m} m USING (namespace, name) WHERE step.lacking ORDER BY m.namespace, m.name FOR UPDATE OF m), ` +
      `filled AS (UPDATE ${m} m SET labels = m.labels FROM held WHERE m.namespace = held.namespace AND m.name = held.name RETURNING 1) ` +
      `SELECT namespace, name, (SELECT count(*) FROM filled) AS filled FROM step ORDER BY namespace DESC, name DESC LIMIT 1`,
    [namespace, name],
  );
  return rows[0];
}
