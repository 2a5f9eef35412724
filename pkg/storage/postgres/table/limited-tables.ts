import type { PoolClient } from 'pg';
import { revisionLock } from '../connection/revision-lock.ts';
import { quotaResource, tableName, type Table } from './table.ts';

/** In `quotas`, the number in place of a model's for a limit on the objects of all models. */
export const allModels = 0;

const added = 'NEW TABLE AS added';
const removed = 'OLD TABLE AS removed';

/** The triggers of a table whose objects are limited in some namespace, by name. They count what is written. */
export const quotaTriggers = {
  quota_insert: (table: Pick<Table, 'id'>) => triggerText(table, 'INSERT', added),
  quota_update: (table: Pick<Table, 'id'>) => triggerText(table, 'UPDATE', `${removed} ${added}`),
  quota_delete: (table: Pick<Table, 'id'>) => triggerText(table, 'DELETE', removed),
} as const;

function triggerText(table: Pick<Table, 'id'>, event: 'INSERT' | 'UPDATE' | 'DELETE', rows: string): string {
  return `CREATE OR REPLACE TRIGGER quota_${event.toLowerCase()} AFTER ${event} ON ${tableName(table)} REFERENCING ${rows} FOR EACH STATEMENT EXECUTE FUNCTION platform.count_usage('${table.id}')`;
}

/**
 * Gives the tables that the rows of `quotas` name their triggers, takes them from the others, and tells writers by a
 * new shape. In a transaction that changes tables; it acquires the revision lock last. Returns the tables that were not
 * limited before.
 */
export async function limitTables(client: PoolClient): Promise<number[]> {
  const { rows } = await client.query<{ id: number; limited: boolean }>(
    `WITH named AS (SELECT DISTINCT model FROM platform.quotas),
       wanted AS (SELECT m.id, m.limited, m.namespaced AND (m.api_group, m.resource) <> ($1, $2) AND EXISTS (SELECT FROM named WHERE model IN (m.id, ${allModels})) AS is_named FROM platform.models m)
     SELECT id, is_named AS limited FROM wanted WHERE limited <> is_named ORDER BY id`,
    [quotaResource.group, quotaResource.resource],
  );
  if (rows.length === 0) return [];
  for (const { id, limited } of rows) {
    for (const [name, create] of Object.entries(quotaTriggers))
      await client.query(limited ? create({ id }) : `DROP TRIGGER IF EXISTS ${name} ON ${tableName({ id })}`);
  }
  await client.query(`SELECT pg_advisory_xact_lock(${revisionLock})`);
  await client.query('UPDATE platform.models SET shape = shape + 1, limited = NOT limited WHERE id = ANY ($1)', [
    rows.map(({ id }) => id),
  ]);
  return rows.flatMap(({ id, limited }) => (limited ? [id] : []));
}
