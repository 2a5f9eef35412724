import type { Pool } from 'pg';
import type { StoreMeasures } from '../store-observer.ts';

interface MeasureRow {
  newest: string;
  compacted: string;
  log_rows: string;
  log_bytes: string;
  models:
    { group: string; resource: string; objects: number; bytes: number; building: number; failed: number }[] | null;
}

/**
 * SQL for PostgreSQL's estimate of a table's rows: its live statistics or, after a crash has reset them, the number from
 * the last ANALYZE.
 */
export const estimatedRows = (oid: string): string =>
  `greatest(pg_stat_get_live_tuples(${oid}), CASE WHEN pg_stat_get_live_tuples(${oid}) = 0 THEN (SELECT reltuples FROM pg_class WHERE oid = ${oid})::bigint ELSE 0 END, 0)`;

const text =
  `SELECT (SELECT max(rev) FROM platform.change_log) AS newest, compacted, ` +
  `${estimatedRows("'platform.change_log'::regclass")} AS log_rows, pg_total_relation_size('platform.change_log') AS log_bytes, ` +
  `(SELECT jsonb_agg(jsonb_build_object('group', api_group, 'resource', resource, 'objects', ${estimatedRows('c.oid')}, 'bytes', pg_total_relation_size(c.oid), ` +
  `'building', (SELECT count(*) FROM jsonb_array_elements(columns) e WHERE e->>'state' = 'building'), ` +
  `'failed', (SELECT count(*) FROM jsonb_array_elements(columns) e WHERE e->>'state' = 'failed')) ORDER BY api_group, resource) ` +
  `FROM platform.models JOIN pg_class c ON c.relnamespace = 'platform'::regnamespace AND c.relname = 'm_' || id) AS models ` +
  `FROM platform.meta`;

/** Runs one query, which reads only catalogs: milliseconds with a thousand models. */
export async function measureStore(pool: Pool): Promise<StoreMeasures> {
  const { rows } = await pool.query<MeasureRow>({ name: 'measure', text });
  const { newest, compacted, log_rows, log_bytes, models } = rows[0]!;
  const all = models ?? [];
  return {
    newest: Number(newest),
    compacted: Number(compacted),
    logRows: Number(log_rows),
    logBytes: Number(log_bytes),
    models: all.map(({ group, resource, objects, bytes }) => ({ group, resource, objects, bytes })),
    indexes: { building: sum(all.map(({ building }) => building)), failed: sum(all.map(({ failed }) => failed)) },
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
