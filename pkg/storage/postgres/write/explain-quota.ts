import type { Pool } from 'pg';
import { formatGroupResource } from '#pkg/apimachinery/index';
import { StorageError } from '../../storage-error.ts';
import { usageOf } from '../quota/quota-sql.ts';
import { allModels } from '../table/limited-tables.ts';
import type { BatchOperation } from './batch-operation.ts';

interface LimitRow {
  model: number;
  max_count: string | null;
  count_quota: string;
  max_bytes: string | null;
  bytes_quota: string;
  count: string;
  bytes: string;
}

/** The figures of one limit that a write would pass. */
interface Excess {
  quota: string;
  /** As in a quota's `spec.hard`. */
  name: string;
  requested: number;
  used: number;
  max: number;
}

/**
 * The quotas that the operation would pass now, with their figures; undefined if it is within all of them. Source of the
 * sentence: k8s.io/apiserver/pkg/admission/plugin/resourcequota.
 */
export async function explainQuota(pool: Pool, operation: BatchOperation): Promise<StorageError | undefined> {
  const { table, type, namespace, body, from, deleted } = operation;
  if (!table.limited || type === 'D' || (type === 'U' && deleted !== null)) return undefined;
  const { rows } = await pool.query<LimitRow>(
    `SELECT q.model, q.max_count, q.count_quota, q.max_bytes, q.bytes_quota, coalesce(u.count, 0) AS count, coalesce(u.bytes, 0) AS bytes
       FROM platform.quotas q LEFT JOIN ${usageOf('q')} u ON true
       WHERE q.namespace = $1 AND q.model IN ($2, ${allModels}) AND q.is_counted ORDER BY q.model DESC`,
    [namespace, table.id],
  );
  const added = {
    count: type === 'C' ? 1 : 0,
    bytes: Buffer.byteLength(body) - (from === undefined ? 0 : Buffer.byteLength(from.body)),
  };
  const resource = formatGroupResource(table.resource);
  const exceeded = rows.flatMap((row): Excess[] =>
    [
      {
        quota: row.count_quota,
        name: `count/${resource}`,
        requested: added.count,
        used: Number(row.count),
        max: row.max_count,
      },
      {
        quota: row.bytes_quota,
        name: row.model === allModels ? 'bytes' : `bytes/${resource}`,
        requested: added.bytes,
        used: Number(row.bytes),
        max: row.max_bytes,
      },
    ].flatMap(({ max, ...rest }) =>
      max !== null && rest.requested > 0 && rest.used + rest.requested > Number(max)
        ? [{ ...rest, max: Number(max) }]
        : [],
    ),
  );
  return exceeded.length === 0 ? undefined : new StorageError('QuotaExceeded', sentenceOf(exceeded));
}

function sentenceOf(exceeded: readonly Excess[]): string {
  const sentences = [...new Set(exceeded.map(({ quota }) => quota))].map((quota) => {
    const own = exceeded.filter((each) => each.quota === quota);
    const figures = (of: 'requested' | 'used' | 'max'): string =>
      own.map((each) => `${each.name}=${each[of]}`).join(',');
    return `exceeded quota: ${quota}, requested: ${figures('requested')}, used: ${figures('used')}, limited: ${figures('max')}`;
  });
  return sentences.join('; ');
}
