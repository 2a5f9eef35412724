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

/** The tables that the rows of `quotas` do not name any more, and those that they name but that have no triggers. */
export const wronglyLimited = `WITH named AS (SELECT DISTINCT model FROM platform.quotas),
  wanted AS (SELECT m.id, m.limited, m.namespaced AND (m.api_group, m.resource) <> ('${quotaResource.group}', '${quotaResource.resource}') AND EXISTS (SELECT FROM named WHERE model IN (m.id, ${allModels})) AS is_named FROM platform.models m)
  SELECT id, is_named FROM wanted WHERE limited <> is_named ORDER BY id`;

/**
 * Gives the tables that the rows of `quotas` name their triggers, or takes them from those that they no longer name, and
 * tells writers by a new shape. In a transaction that changes tables; it acquires the revision lock last. `emptyTable`
 * has no objects yet; those of the others are to be counted.
 */
export async function limitTables(
  client: PoolClient,
  { limited, emptyTable }: { limited: boolean; emptyTable?: number },
): Promise<void> {
  const { rows } = await client.query<{ id: number; is_named: boolean }>(wronglyLimited);
  const ids = rows.flatMap(({ id, is_named }) => (is_named === limited ? [id] : []));
  if (ids.length === 0) return;
  for (const id of ids) {
    for (const [name, create] of Object.entries(quotaTriggers))
      await client.query(limited ? create({ id }) : `DROP TRIGGER IF EXISTS ${name} ON ${tableName({ id })}`);
  }
  await client.query(`SELECT pg_advisory_xact_lock(${revisionLock})`);
  await client.query('UPDATE platform.models SET shape = shape + 1, limited = $2 WHERE id = ANY ($1)', [ids, limited]);
  // A replica of an earlier release may have created the table. A limit on its objects alone is counted anyway.
  if (limited && ids.some((id) => id !== emptyTable))
    await client.query(
      `UPDATE platform.quotas SET must_count = true, id = gen_random_uuid() WHERE model = ${allModels}`,
    );
}
