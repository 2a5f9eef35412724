import type { ClientBase } from 'pg';
import { formatGroupResource, type IndexDefinition } from '#pkg/apimachinery/index';
import { voidHistory } from './epoch.ts';
import { isLeases, leaseHeld } from '../table/lease-fence.ts';
import { ownersTrigger } from '../table/owner-elements.ts';
import { namespaceExists } from '../table/table-definer.ts';
import { isNamespaces, sqlType, tableName, type Column } from '../table/table.ts';

/** What a database has given out, for the revisions of one that is restored to lie beyond. */
export interface HistoryState {
  readonly revision: number;
  readonly epoch: number;
}

/** Revisions are numbers of JSON, and what lies beyond a restored one has to be one, too; epochs are `int`. */
export const historyLimits: HistoryState = { revision: 2 ** 52, epoch: 2 ** 30 };

/** Of schema `platform`, as the transaction sees it. */
export async function readHistory(client: ClientBase): Promise<HistoryState> {
  const { rows } = await client.query<{ revision: string; epoch: number }>(
    'SELECT greatest((SELECT last_value FROM platform.revision), (SELECT max(rev) FROM platform.change_log)) AS revision, epoch FROM platform.meta',
  );
  return { revision: Number(rows[0]!.revision), epoch: rows[0]!.epoch };
}

/** The tables of models, for a backup: each is what its row in `models` says. */
export const modelTables = {
  select: `SELECT 'm_' || id AS name FROM platform.models`,
  pattern: /^m_[1-9]\d{0,9}$/,
  triggers: { owners: (table: string): string => ownersTrigger({ id: Number(table.slice(2)) }) },
} as const;

/** The part of the log that a backup keeps: what idempotency keys name. It is what a compaction would spare, too. */
export const rememberedChanges =
  'SELECT c.* FROM platform.change_log c WHERE EXISTS (SELECT FROM platform.idempotency_keys k WHERE k.rev = c.rev)';

/**
 * Completes a schema `platform` that holds a backup's rows, with the given tables of models: functions that name tables
 * are made for these, and revisions jump beyond whatever `known` databases gave out, so that no client goes on from
 * there. Answers what is wrong with the rows, where they are no work of this program's: names and types in them become
 * SQL later.
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
    if (isNamespaces({ resource }))
      await replaceFunction(client, 'platform.namespace_exists(text, bigint)', namespaceExists(tableName(row)));
    if (isLeases({ resource }))
      await replaceFunction(client, 'platform.lease_held(text, text, int)', leaseHeld(tableName(row)));
  }
  const { rowCount: outside } = await client.query(
    'SELECT FROM platform.change_log WHERE rev < 1 OR rev > $1 LIMIT 1',
    [historyLimits.revision],
  );
  if (outside !== 0) return 'its log has revisions that are never given out';
  await client.query("SELECT setval('platform.revision', $1)", [Math.max(...known.map(({ revision }) => revision))]);
  await client.query('UPDATE platform.meta SET epoch = $1', [Math.max(...known.map(({ epoch }) => epoch))]);
  await voidHistory(client);
  return undefined;
}

/** Of a backup by an earlier release it may not be there yet: the migration that makes it knows of the table. */
async function replaceFunction(client: ClientBase, signature: string, text: string): Promise<void> {
  const { rows } = await client.query<{ there: boolean }>('SELECT to_regprocedure($1) IS NOT NULL AS there', [
    signature,
  ]);
  if (rows[0]?.there === true) await client.query(text);
}

/** Every column of an index is one of the table's, and of a known type. */
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
