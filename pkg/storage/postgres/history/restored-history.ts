import type { ClientBase } from 'pg';
import { formatGroupResource, type IndexDefinition } from '#pkg/apimachinery/index';
import { voidHistory } from './epoch.ts';
import { isLeaseTable, leaseHeld } from '../table/lease-fence.ts';
import { quotaTriggers } from '../table/limited-tables.ts';
import { ownersTrigger } from '../table/owner-elements.ts';
import { namespaceExists } from '../table/table-definer.ts';
import { isNamespaceTable, sqlType, tableName, type Column } from '../table/table.ts';

/** The newest revision and epoch of a database. A restored database must continue above them. */
export interface HistoryState {
  readonly revision: number;
  readonly epoch: number;
}

/** Revisions are JSON numbers, and so must be the revisions after a restore; epochs are `int`. */
export const historyLimits: HistoryState = { revision: 2 ** 52, epoch: 2 ** 30 };

/** Reads the state of schema `platform` in the client's transaction. */
export async function readHistory(client: ClientBase): Promise<HistoryState> {
  const { rows } = await client.query<{ revision: string; epoch: number }>(
    'SELECT greatest((SELECT last_value FROM platform.revision), (SELECT max(rev) FROM platform.change_log)) AS revision, epoch FROM platform.meta',
  );
  return { revision: Number(rows[0]!.revision), epoch: rows[0]!.epoch };
}

/** The tables of models, for a backup. A table's row in `models` describes it. */
export const modelTables = {
  select: `SELECT 'm_' || id AS name FROM platform.models`,
  pattern: /^m_[1-9]\d{0,9}$/,
  triggers: Object.fromEntries(
    Object.entries({ owners: ownersTrigger, ...quotaTriggers }).map(([name, trigger]) => [
      name,
      (table: string): string => trigger({ id: Number(table.slice(2)) }),
    ]),
  ),
} as const;

/** The log rows in a backup: those that idempotency keys name, as in compaction. */
export const rememberedChanges =
  'SELECT c.* FROM platform.change_log c WHERE EXISTS (SELECT FROM platform.idempotency_keys k WHERE k.rev = c.rev)';

/** All rows, of all partitions: COPY reads no partitioned table. */
export const auditEvents = 'SELECT * FROM platform.audit_events';

/**
 * Completes a schema `platform` that contains a backup's rows, with the given tables of models: creates the functions
 * that name these tables, and raises revisions above those of the `known` databases, so that no client resumes from
 * there. Returns the problem if the rows were not written by this program: names and types in them later become SQL.
 */
export async function adoptRestored(
  client: ClientBase,
  { known, tables }: { known: readonly HistoryState[]; tables: ReadonlyMap<string, readonly string[]> },
): Promise<string | undefined> {
  const { rows } = await client.query<{ id: number; api_group: string; resource: string; columns: unknown }>(
    'SELECT id, api_group, resource, columns FROM platform.models ORDER BY id',
  );
  if (rows.length !== tables.size) return 'its models are not those of its tables';
  for (const row of rows) {
    const columns = tables.get(`m_${row.id}`);
    if (columns === undefined || !areColumns(row.columns, columns))
      return `its model ${formatGroupResource({ group: row.api_group, resource: row.resource })} is not what its table is`;
    const resource = { group: row.api_group, resource: row.resource };
    if (isNamespaceTable({ resource }))
      await replaceFunction(client, 'platform.namespace_exists(text, bigint)', namespaceExists(tableName(row)));
    if (isLeaseTable({ resource }))
      await replaceFunction(client, 'platform.lease_held(text, text, int)', leaseHeld(tableName(row)));
  }
  const { rowCount: outside } = await client.query(
    'SELECT FROM platform.change_log WHERE rev < 1 OR rev > $1 LIMIT 1',
    [historyLimits.revision],
  );
  if (outside !== 0) return 'its log has revisions that are never given out';
  const problem = await adoptAuditEvents(client);
  if (problem !== undefined) return problem;
  await client.query("SELECT setval('platform.revision', $1)", [Math.max(...known.map(({ revision }) => revision))]);
  await client.query('UPDATE platform.meta SET epoch = $1', [Math.max(...known.map(({ epoch }) => epoch))]);
  await voidHistory(client);
  return undefined;
}

/**
 * Gives the restored rows of the audit log a partition of their own: the default partition must be empty, because its
 * rows are looked through, under a lock, for each new day.
 */
async function adoptAuditEvents(client: ClientBase): Promise<string | undefined> {
  const { rows: tables } = await client.query<{ there: boolean }>(
    "SELECT to_regclass('platform.audit_events') IS NOT NULL AS there",
  );
  // A backup of an earlier release has none.
  if (tables[0]?.there !== true) return undefined;
  const { rows } = await client.query<{ end: string | null; is_past: boolean }>(
    `SELECT to_char(date_trunc('day', max(at) AT TIME ZONE 'UTC') + interval '1 day', 'YYYY-MM-DD') AS end,
       max(at) < now() + interval '1 day' AS is_past FROM platform.audit_events_default`,
  );
  const [{ end, is_past: isPast } = { end: null, is_past: false }] = rows;
  if (end === null) return undefined;
  if (!isPast) return 'its audit log has events of the future';
  await client.query(
    `ALTER TABLE platform.audit_events DETACH PARTITION platform.audit_events_default;
     ALTER TABLE platform.audit_events_default RENAME TO audit_events_restored;
     ALTER TABLE platform.audit_events ATTACH PARTITION platform.audit_events_restored FOR VALUES FROM (MINVALUE) TO ('${end}Z');
     CREATE TABLE platform.audit_events_default PARTITION OF platform.audit_events DEFAULT`,
  );
  return undefined;
}

/** The function may be missing in a backup of an earlier release: the migration that creates it uses the table. */
async function replaceFunction(client: ClientBase, signature: string, text: string): Promise<void> {
  const { rows } = await client.query<{ there: boolean }>('SELECT to_regprocedure($1) IS NOT NULL AS there', [
    signature,
  ]);
  if (rows[0]?.there === true) await client.query(text);
}

/** Checks that every index column is a column of the table and has a known type. */
function areColumns(value: unknown, present: readonly string[]): value is Column[] {
  if (!Array.isArray(value)) return false;
  return value.every((entry: unknown) => {
    const { name, index } = (entry ?? {}) as { name?: unknown; index?: Partial<IndexDefinition> };
    return (
      typeof name === 'string' &&
      /^i_[1-9]\d{0,8}$/.test(name) &&
      present.includes(name) &&
      typeof index?.name === 'string' &&
      typeof index.multi === 'boolean' &&
      isType(index.type)
    );
  });
}

function isType(type: unknown): boolean {
  return (
    ['string', 'integer', 'number', 'boolean', 'date'].includes(type as string) &&
    typeof sqlType({ type: type as IndexDefinition['type'] }) === 'string'
  );
}
