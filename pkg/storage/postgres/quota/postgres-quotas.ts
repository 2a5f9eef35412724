import type { Pool, PoolClient } from 'pg';
import { formatGroupResource } from '#pkg/apimachinery/index';
import { runTransaction } from '#pkg/database/index';
import type { Quotas, QuotaLimit, QuotaLimits, QuotaUsage } from '../../quotas.ts';
import { isStorageError } from '../../storage-error.ts';
import { revisionLock, underRevisionLock } from '../connection/revision-lock.ts';
import { translated, translateError } from '../connection/translate-error.ts';
import { allModels, limitTables, wronglyLimited } from '../table/limited-tables.ts';
import type { TableDefiner } from '../table/table-definer.ts';
import { tableName } from '../table/table.ts';
import { usageOf } from './quota-sql.ts';

/** For the revision lock, which writers wait for too. Milliseconds. */
const lockTimeoutMs = 5_000;
/** Rows that are counted at a time. */
const stepRows = 10_000;

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
 * Limits of namespaces, in table `quotas`. A statement that writes to a limited table asks `within_quota` once it has the
 * revision lock, and the table's triggers add what it wrote to `quota_usage`.
 */
export class PostgresQuotas implements Quotas {
  readonly #options: PostgresQuotasOptions;

  constructor(options: PostgresQuotasOptions) {
    this.#options = options;
  }

  async set(namespace: string, limits: readonly QuotaLimits[]): Promise<void> {
    await translated(this.#options.definer.changeLimits((client) => setLimits(client, namespace, limits)));
    await this.limitTables();
  }

  async limitTables(): Promise<void> {
    const { control, definer } = this.#options;
    const { rows } = await translated(control.query<{ is_named: boolean }>(wronglyLimited));
    if (rows.some((row) => row.is_named))
      await translated(definer.changeLimits((client) => limitTables(client, { limited: true })));
    if (rows.some((row) => !row.is_named))
      await definer.changeLimits((client) => limitTables(client, { limited: false }), 0).catch(unlessInUse);
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
      await translated(this.#count({ ...limit, namespace }, signal));
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
  async #count(limit: { id: string; model: number; namespace: string }, signal: AbortSignal): Promise<void> {
    const { pool } = this.#options;
    const missing = await runTransaction(pool, (client) => uncounted(client, limit, signal), {
      begin: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
    });
    const add = async (client: PoolClient): Promise<void> => {
      // A row that somebody changes waits for this lock, and is counted later.
      await client.query(
        `WITH held AS (SELECT namespace, model FROM platform.quotas WHERE namespace = $1 AND model = $2 AND id = $3 AND must_count FOR UPDATE SKIP LOCKED),
           counted AS (UPDATE platform.quotas q SET is_counted = true, must_count = false FROM held WHERE q.namespace = held.namespace AND q.model = held.model RETURNING q.namespace, q.model)
         INSERT INTO platform.quota_usage (namespace, model, count, bytes)
           SELECT q.namespace, q.model, coalesce(u.count, 0) + $4, coalesce(u.bytes, 0) + $5 FROM counted q LEFT JOIN ${usageOf('q')} u ON true`,
        [limit.namespace, limit.model, limit.id, missing.count, missing.bytes],
      );
    };
    await underRevisionLock(pool, add, lockTimeoutMs);
  }
}

/** Triggers that count for nobody only cost time: a later call drops them. */
function unlessInUse(error: unknown): void {
  if (!isStorageError(error, 'TableInUse')) throw translateError(error);
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
  const removed = await client.query<{ model: number }>(
    'DELETE FROM platform.quotas WHERE namespace = $1 AND model <> ALL ($2) RETURNING model',
    [namespace, named],
  );
  const changed = removed.rows.map(({ model }) => model);
  for (const { model, count, bytes } of rows) {
    const { rows: written } = await client.query<{ is_new: boolean }>(
      `INSERT INTO platform.quotas AS q (namespace, model, max_count, count_quota, max_bytes, bytes_quota) VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (namespace, model) DO UPDATE SET max_count = excluded.max_count, count_quota = excluded.count_quota, max_bytes = excluded.max_bytes, bytes_quota = excluded.bytes_quota
         WHERE (q.max_count, q.count_quota, q.max_bytes, q.bytes_quota) IS DISTINCT FROM (excluded.max_count, excluded.count_quota, excluded.max_bytes, excluded.bytes_quota)
         RETURNING xmax = 0 AS is_new`,
      [namespace, model, count?.max ?? null, count?.quota ?? null, bytes?.max ?? null, bytes?.quota ?? null],
    );
    if (written[0]?.is_new === true) changed.push(model);
  }
  await limitTables(client, { limited: true });
  // Until the commit, so that no write is under way that did not know the limit: its objects would never be counted.
  await client.query(`SELECT pg_advisory_xact_lock(${revisionLock})`);
  await client.query('DELETE FROM platform.quota_usage WHERE namespace = $1 AND model = ANY ($2)', [
    namespace,
    changed,
  ]);
}

interface Amount {
  count: number;
  bytes: number;
}

/** What the limit's objects take beyond what is counted; in a transaction with one snapshot. */
async function uncounted(
  client: PoolClient,
  { namespace, model }: { namespace: string; model: number },
  signal: AbortSignal,
): Promise<Amount> {
  const { rows: tables } = await client.query<{ id: number }>(
    `SELECT id FROM platform.models WHERE limited AND (id = $1 OR $1 = ${allModels})`,
    [model],
  );
  const { rows: counted } = await client.query<{ count: string; bytes: string }>(
    `SELECT u.count, u.bytes FROM (SELECT $1::text AS namespace, $2::int AS model) q, ${usageOf('q')} u`,
    [namespace, model],
  );
  const missing: Amount = { count: -Number(counted[0]?.count ?? 0), bytes: -Number(counted[0]?.bytes ?? 0) };
  for (const table of tables) {
    const amount = await amountIn(client, tableName(table), namespace, signal);
    missing.count += amount.count;
    missing.bytes += amount.bytes;
  }
  return missing;
}

/** Counts step by step, so that a stop need not wait for a large namespace. */
async function amountIn(client: PoolClient, table: string, namespace: string, signal: AbortSignal): Promise<Amount> {
  const amount: Amount = { count: 0, bytes: 0 };
  for (let after = ''; ;) {
    signal.throwIfAborted();
    const step = await client.query<{ count: string; bytes: string; last: string | null }>(
      `SELECT count(*) AS count, coalesce(sum(octet_length(body)), 0) AS bytes, max(name) AS last
         FROM (SELECT name, body FROM ${table} WHERE namespace = $1 AND name > $2 ORDER BY name LIMIT ${stepRows}) step`,
      [namespace, after],
    );
    const { count, bytes, last } = step.rows[0]!;
    if (last === null) return amount;
    amount.count += Number(count);
    amount.bytes += Number(bytes);
    after = last;
  }
}
