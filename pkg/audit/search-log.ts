import { formatMicroTime } from './audit-event.ts';
import type { AuditPage, AuditPosition, AuditQuery, StoredAuditRecord } from './audit-log.ts';

const dayMs = 86_400_000;
const shortestSpanMs = 60_000;
/** A span that took longer is not followed by a longer one. Milliseconds. */
const slowMs = 500;
/** A search that has taken so long returns what it has found. Milliseconds. */
const searchMs = 5_000;

/** Rows from `oldest` on, before `newest`, and older than `after`: milliseconds since 1970. */
export interface AuditSpan {
  oldest: number;
  newest: number;
  limit: number;
  after: AuditPosition | undefined;
}

/** How a log reads its rows. */
export interface AuditSpanReader {
  /** The times of the oldest and the newest row, in milliseconds since 1970; undefined: there is none. */
  readBounds(): Promise<{ oldest: number; newest: number } | undefined>;
  /** The newest first. */
  readSpan(span: AuditSpan): Promise<StoredAuditRecord[]>;
  /** Whether the span was too long for one statement. */
  isTimeout(error: unknown): boolean;
}

/**
 * Searches a log from the newest row to the oldest: a day, then two days, then four while that is fast, because rows of
 * rare values may be anywhere in a large log.
 */
export async function searchAuditLog(reader: AuditSpanReader, query: AuditQuery): Promise<AuditPage> {
  const { from = -Infinity, to = Infinity, limit, signal } = query;
  let { after } = query;
  const bounds = await reader.readBounds();
  if (bounds === undefined) return { records: [] };
  const first = Math.max(from, bounds.oldest);
  // The positions have microseconds.
  let newest = Math.min(to, bounds.newest + 1, after === undefined ? Infinity : Date.parse(after.at) + 1);
  const records: StoredAuditRecord[] = [];
  const start = performance.now();
  for (let spanMs = dayMs; newest > first;) {
    signal?.throwIfAborted();
    const oldest = Math.max(first, newest - spanMs);
    const began = performance.now();
    let found: StoredAuditRecord[];
    try {
      found = await reader.readSpan({ oldest, newest, limit: limit - records.length + 1, after });
    } catch (error) {
      if (!reader.isTimeout(error) || spanMs <= shortestSpanMs) throw error;
      spanMs /= 16;
      continue;
    }
    const wanted = limit - records.length;
    records.push(...found.slice(0, wanted));
    if (found.length > wanted) return { records, next: positionOf(records.at(-1)!) };
    newest = oldest;
    after = undefined;
    const now = performance.now();
    if (newest > first && (records.length === limit || now - start > searchMs))
      return { records, next: { at: formatMicroTime(newest), id: '', revision: 0 } };
    if (now - began < slowMs) spanMs *= 2;
  }
  return { records };
}

/** The position of a row, from which a search goes on. */
export function positionOf({ at, id, revision = 0 }: StoredAuditRecord): AuditPosition {
  return { at, id, revision };
}
