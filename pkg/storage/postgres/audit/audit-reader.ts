import type { Pool } from 'pg';
import {
  searchAuditLog,
  type AuditPage,
  type AuditQuery,
  type AuditSelectors,
  type AuditSpan,
  type StoredAuditRecord,
} from '#pkg/audit/index';
import { isStatementTimeout } from '../connection/database-failure.ts';

const columns = {
  username: 'username',
  verb: 'verb',
  code: 'code',
  resource: 'resource',
  namespace: 'namespace',
  name: 'name',
  id: 'id',
} satisfies Record<keyof AuditSelectors, string>;

interface Row extends Omit<StoredAuditRecord, 'revision'> {
  rev: string | null;
}

export function readAuditLog(pool: Pool, query: AuditQuery): Promise<AuditPage> {
  return searchAuditLog(
    {
      readBounds: () => readBounds(pool),
      readSpan: (span) => readSpan(pool, query.selectors, span),
      isTimeout: isStatementTimeout,
    },
    query,
  );
}

async function readBounds(pool: Pool): Promise<{ oldest: number; newest: number } | undefined> {
  const { rows } = await pool.query<{ oldest: string | null; newest: string | null }>(
    'SELECT floor(extract(epoch FROM min(at)) * 1000) AS oldest, floor(extract(epoch FROM max(at)) * 1000) AS newest FROM platform.audit_events',
  );
  const [{ oldest, newest } = { oldest: null, newest: null }] = rows;
  return oldest === null || newest === null ? undefined : { oldest: Number(oldest), newest: Number(newest) };
}

async function readSpan(
  pool: Pool,
  selectors: AuditSelectors,
  { oldest, newest, limit, after }: AuditSpan,
): Promise<StoredAuditRecord[]> {
  const values: unknown[] = [];
  const bind = (value: unknown): string => `$${values.push(value)}`;
  const conditions = [`at >= to_timestamp(${bind(oldest / 1000)})`, `at < to_timestamp(${bind(newest / 1000)})`];
  for (const [selector, value] of Object.entries(selectors))
    if (value !== undefined) conditions.push(`${columns[selector as keyof AuditSelectors]} = ${bind(value)}`);
  if (after !== undefined)
    conditions.push(
      `(at, id, coalesce(rev, 0)) < (${bind(after.at)}::timestamptz, ${bind(after.id)}, ${bind(after.revision)}::bigint)`,
    );
  const { rows } = await pool.query<Row>(
    `SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at, rev, ${Object.values(columns).join(', ')}, event
      FROM platform.audit_events WHERE ${conditions.join(' AND ')} ORDER BY at DESC, id DESC, coalesce(rev, 0) DESC LIMIT ${limit}`,
    values,
  );
  return rows.map(({ rev, ...record }) => (rev === null ? record : { ...record, revision: Number(rev) }));
}
