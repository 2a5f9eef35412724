import type { Pool } from 'pg';
import type { AuditPage, AuditPosition, AuditQuery, AuditSelectors, StoredAuditRecord } from '#pkg/audit/index';

const dayMs = 86_400_000;
/** A search that has taken so long returns what it has found. Milliseconds. */
const searchMs = 5_000;

const columns = {
  username: 'username',
  verb: 'verb',
  code: 'code',
  resource: 'resource',
  namespace: 'namespace',
  name: 'name',
  id: 'id',
} satisfies Record<keyof AuditSelectors, string>;

/** Rows from `oldest` on, before `newest`, and after the position: milliseconds since 1970. */
interface Span {
  oldest: number;
  newest: number;
  limit: number;
  after: AuditPosition | undefined;
}

interface Row extends Omit<StoredAuditRecord, 'revision'> {
  rev: string | null;
}

/**
 * Reads the audit log from the newest row to the oldest. It searches a day, then the two days before, then four, because
 * rows of rare values may be anywhere in a large log.
 */
export async function readAuditLog(pool: Pool, query: AuditQuery): Promise<AuditPage> {
  const bounds = await readBounds(pool, query);
  if (bounds === undefined) return { records: [] };
  const records: StoredAuditRecord[] = [];
  const start = performance.now();
  let { after } = query;
  let newest = bounds.newest;
  for (let spanMs = dayMs; ; spanMs *= 2) {
    query.signal?.throwIfAborted();
    const oldest = Math.max(bounds.oldest, newest - spanMs);
    const limit = query.limit - records.length;
    const found = await readSpan(pool, query.selectors, { oldest, newest, limit: limit + 1, after });
    records.push(...found.slice(0, limit));
    if (found.length > limit) return { records, next: positionOf(records.at(-1)!) };
    if (oldest <= bounds.oldest) return { records };
    newest = oldest;
    after = undefined;
    if (records.length === query.limit || performance.now() - start > searchMs)
      return { records, next: { at: new Date(newest).toISOString(), id: '', revision: 0 } };
  }
}

/** The times between which rows may be: `oldest` is inside, `newest` is not. */
async function readBounds(
  pool: Pool,
  { from = -Infinity, to = Infinity, after }: AuditQuery,
): Promise<{ oldest: number; newest: number } | undefined> {
  const { rows } = await pool.query<{ oldest: string | null; newest: string | null }>(
    'SELECT floor(extract(epoch FROM min(at)) * 1000) AS oldest, floor(extract(epoch FROM max(at)) * 1000) + 1 AS newest FROM platform.audit_events',
  );
  const [{ oldest, newest } = { oldest: null, newest: null }] = rows;
  if (oldest === null || newest === null) return undefined;
  const end = Math.min(to, Number(newest), after === undefined ? Infinity : Date.parse(after.at) + 1);
  const begin = Math.max(from, Number(oldest));
  return begin < end ? { oldest: begin, newest: end } : undefined;
}

async function readSpan(
  pool: Pool,
  selectors: AuditSelectors,
  { oldest, newest, limit, after }: Span,
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

function positionOf({ at, id, revision = 0 }: StoredAuditRecord): AuditPosition {
  return { at, id, revision };
}
