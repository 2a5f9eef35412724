import type { Pool } from 'pg';
import { runTransaction } from '#pkg/database/index';
import { isLockTimeout, isStaleTable } from '../connection/database-failure.ts';
import { lacksOwners, ownersTrigger } from '../table/owner-elements.ts';
import { tableName } from '../table/table.ts';

/** Rows looked at in a statement, none of which leaves the database. */
const stepRows = 500;
/**
 * Behind a statement that waits to change a table everybody else waits too: it gives up soon, and the next round tries
 * again.
 */
const lockWait = 200;

/** Tables whose rows may lack their owners: made before there was an index on them, or by a replica of that time. */
export async function tablesWithoutOwners(pool: Pool): Promise<number[]> {
  const { rows } = await pool.query<{ id: number }>(
    'SELECT id FROM platform.models WHERE NOT owners_indexed ORDER BY id',
  );
  return rows.map(({ id }) => id);
}

/**
 * Brings the index on owners to a table that is there already. First comes the trigger, so that from then on whoever
 * writes keeps it; then the rows, step by step; then the table is said to have it. False if the table was in use, and
 * is to be tried again. May be broken off and repeated anywhere.
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
    // Dropped meanwhile.
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
    begin: `BEGIN; SET LOCAL lock_timeout = ${lockWait}`,
  });
}

/**
 * Touches the rows that lack their owners, for the trigger to add them. Rows are locked in key order, as a batch locks
 * them.
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
