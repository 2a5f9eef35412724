import type { Pool, PoolClient } from 'pg';
import { formatGroupResource } from '#pkg/apimachinery/index';
import { runTransaction } from '#pkg/database/index';
import type { Quotas, QuotaLimit, QuotaLimits, QuotaUsage } from '../../quotas.ts';
import { revisionLock } from '../connection/revision-lock.ts';
import { translated } from '../connection/translate-error.ts';
import { allModels, limitTables } from '../table/limited-tables.ts';
import type { TableDefiner } from '../table/table-definer.ts';
import { tableName } from '../table/table.ts';
import { usageOf } from './quota-sql.ts';

export interface PostgresQuotasOptions {
  /** For changes of tables and for counts, which take long. */
  pool: Pool;
  /** For short statements. */
  control: Pool;
  definer: TableDefiner;
}

interface UsageRow {
  namespace: string;
  model: number;
  api_group: string | null;
  resource: string | null;
  max_count: string | null;
  count_quota: string | null;
  max_bytes: string | null;
  bytes_quota: string | null;
  count: string;
  bytes: string;
  is_counted: boolean;
  must_count: boolean;
}

/**
 * Limits of namespaces, in table `quotas`. A statement that writes to a limited table asks `over_quota` once it has the
 * revision lock, and the table's triggers add what it wrote to `quota_usage`.
 */
export class PostgresQuotas implements Quotas {
  readonly #options: PostgresQuotasOptions;

  constructor(options: PostgresQuotasOptions) {
    this.#options = options;
  }

  async set(namespace: string, limits: readonly QuotaLimits[]): Promise<void> {
    await translated(this.#options.definer.changeLimits((client) => setLimits(client, namespace, limits)));
  }

  async count(namespace: string, signal: AbortSignal): Promise<void> {
    const { control } = this.#options;
    const { rows } = await translated(
      control.query<{ id: string; model: number }>(
        'SELECT id, model FROM platform.quotas WHERE namespace = $1 AND must_count ORDER BY model',
        [namespace],
      ),
    );
    for (const limit of rows) {
      signal.throwIfAborted();
      await translated(this.#count({ ...limit, namespace }));
    }
  }

  async usage(namespaces: readonly string[]): Promise<Map<string, QuotaUsage[]>> {
    const { rows } = await translated(
      this.#options.control.query<UsageRow>(
        `SELECT q.*, m.api_group, m.resource, coalesce(u.count, 0) AS count, coalesce(u.bytes, 0) AS bytes
           FROM platform.quotas q LEFT JOIN platform.models m ON m.id = q.model LEFT JOIN ${usageOf('q')} u ON true
           WHERE q.namespace = ANY ($1) AND (m.id IS NOT NULL OR q.model = ${allModels})`,
        [namespaces],
      ),
    );
    const usages = new Map<string, QuotaUsage[]>();
    for (const row of rows) usages.set(row.namespace, [...(usages.get(row.namespace) ?? []), usageFrom(row)]);
    return usages;
  }

  async namespaces(): Promise<string[]> {
    const { rows } = await translated(
      this.#options.control.query<{ namespace: string }>('SELECT DISTINCT namespace FROM platform.quotas'),
    );
    return rows.map(({ namespace }) => namespace);
  }

  /**
   * What is there and what the triggers have counted are read in one snapshot. The difference stays the same whatever is
   * written later, because the triggers count that.
   */
  async #count(limit: { id: string; model: number; namespace: string }): Promise<void> {
    const { pool } = this.#options;
    const missing = await runTransaction(pool, (client) => uncounted(client, limit), {
      begin: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
    });
    await runTransaction(pool, async (client) => {
      await client.query(`SELECT pg_advisory_xact_lock(${revisionLock})`);
      await client.query(
        `WITH counted AS (UPDATE platform.quotas q SET is_counted = true, must_count = false WHERE q.namespace = $1 AND q.model = $2 AND q.id = $3 AND q.must_count RETURNING q.namespace, q.model)
         INSERT INTO platform.quota_usage (namespace, model, count, bytes)
           SELECT q.namespace, q.model, coalesce(u.count, 0) + $4, coalesce(u.bytes, 0) + $5 FROM counted q LEFT JOIN ${usageOf('q')} u ON true`,
        [limit.namespace, limit.model, limit.id, missing.count, missing.bytes],
      );
    });
  }
}

function usageFrom(row: UsageRow): QuotaUsage {
  const { api_group: group, resource } = row;
  const limit = (max: string | null, quota: string | null): QuotaLimit | undefined =>
    max === null || quota === null ? undefined : { max: Number(max), quota };
  const count = limit(row.max_count, row.count_quota);
  const bytes = limit(row.max_bytes, row.bytes_quota);
  return {
    limits: {
      ...(group === null || resource === null ? {} : { resource: { group, resource } }),
      ...(count === undefined ? {} : { count }),
      ...(bytes === undefined ? {} : { bytes }),
    },
    count: Number(row.count),
    bytes: Number(row.bytes),
    isCounted: row.is_counted,
    mustCount: row.must_count,
  };
}

async function setLimits(client: PoolClient, namespace: string, limits: readonly QuotaLimits[]): Promise<void> {
  const { rows: models } = await client.query<{ id: number; api_group: string; resource: string }>(
    'SELECT id, api_group, resource FROM platform.models WHERE namespaced',
  );
  const ids = new Map(
    models.map(({ id, api_group: group, resource }) => [formatGroupResource({ group, resource }), id]),
  );
  const rows = limits.flatMap(({ resource, count, bytes }) => {
    const model = resource === undefined ? allModels : ids.get(formatGroupResource(resource));
    return model === undefined ? [] : [{ model, count, bytes }];
  });
  const named = rows.map(({ model }) => model);
  for (const table of ['quotas', 'quota_usage'])
    await client.query(`DELETE FROM platform.${table} WHERE namespace = $1 AND model <> ALL ($2)`, [namespace, named]);
  for (const { model, count, bytes } of rows) {
    await client.query(
      `INSERT INTO platform.quotas (namespace, model, max_count, count_quota, max_bytes, bytes_quota) VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (namespace, model) DO UPDATE SET max_count = excluded.max_count, count_quota = excluded.count_quota, max_bytes = excluded.max_bytes, bytes_quota = excluded.bytes_quota`,
      [namespace, model, count?.max ?? null, count?.quota ?? null, bytes?.max ?? null, bytes?.quota ?? null],
    );
  }
  const limited = await limitTables(client);
  // A replica of an earlier release may have created the table, and nobody has counted its objects.
  if (limited.length > 0)
    await client.query(
      `UPDATE platform.quotas SET must_count = true, id = gen_random_uuid() WHERE model = ${allModels}`,
    );
}

/** What the limit's objects take beyond what is counted; in a transaction with one snapshot. */
async function uncounted(
  client: PoolClient,
  { namespace, model }: { namespace: string; model: number },
): Promise<{ count: number; bytes: number }> {
  const { rows: tables } = await client.query<{ id: number }>(
    `SELECT id FROM platform.models WHERE limited AND (id = $1 OR $1 = ${allModels})`,
    [model],
  );
  const { rows: counted } = await client.query<{ count: string; bytes: string }>(
    `SELECT u.count, u.bytes FROM (SELECT $1::text AS namespace, $2::int AS model) q, ${usageOf('q')} u`,
    [namespace, model],
  );
  const found: { count: string; bytes: string }[] = [];
  for (const table of tables) {
    const { rows } = await client.query<{ count: string; bytes: string }>(
      `SELECT count(*) AS count, coalesce(sum(octet_length(body)), 0) AS bytes FROM ${tableName(table)} WHERE namespace = $1`,
      [namespace],
    );
    found.push(...rows);
  }
  const missing = (of: 'count' | 'bytes'): number =>
    found.reduce((sum, row) => sum + Number(row[of]), 0) - Number(counted[0]?.[of] ?? 0);
  return { count: missing('count'), bytes: missing('bytes') };
}
