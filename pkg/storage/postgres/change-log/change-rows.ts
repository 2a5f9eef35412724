import type { Change } from '../../change.ts';
import { changeTypes } from '../write/batch-operation.ts';
import { withKeys } from '../write/write-keys.ts';

/** Rows looked at a time. */
export const readRows = 1000;
/** Bodies read at a time, in bytes, where every process follows all changes; a single larger row comes alone. */
const readBytes = 4 * 1024 * 1024;
/** The same for the history of one model, which many watches may ask for at a time. */
export const modelReadBytes = 1024 * 1024;
/** Bodies read without asking whether there is room, in bytes. */
export const briefBytes = 64 * 1024;

const facts = 'rev, model, type, namespace, name, prev, old_fingerprint, new_fingerprint';
const bodies = ['old', 'new', 'old_keys', 'new_keys'];
const columns = `${facts}, size, ${bodies.join(', ')}, extract(epoch FROM at)::float8 AS written`;
/** What tells a row from another one of the same revision, in a history that took another course. */
export const markOf = 'coalesce(batch::text, extract(epoch FROM at)::text)';

/** The header row comes even where no change does; sizes are summed so that large bodies come a few at a time. */
function readText({ condition, bytes, header = '' }: { condition: string; bytes: number; header?: string }): string {
  return (
    `SELECT meta.compacted, meta.epoch${header}, c.* FROM platform.meta LEFT JOIN LATERAL (` +
    `SELECT * FROM (SELECT *, row_number() OVER (ORDER BY rev) AS position, sum(size) OVER (ORDER BY rev) AS so_far, count(*) OVER () AS page_rows FROM (${pageText(condition)}) page) sized ` +
    `WHERE so_far <= ${bytes} OR position = 1) c ON true ORDER BY c.rev`
  );
}

function pageText(condition: string): string {
  return `SELECT ${columns}, ${markOf} AS mark FROM platform.change_log WHERE rev > $1${condition} ORDER BY rev LIMIT ${readRows}`;
}

/**
 * Takes the revision to read after, and that of a row whose mark is asked for. Rows go from the old end, except that
 * those which an idempotency key names are spared: where one that none names is still there, all after it are too.
 */
export const readLogText = readText({
  condition: '',
  bytes: readBytes,
  header:
    `, (SELECT ${markOf} FROM platform.change_log WHERE rev = $2) AS known_mark, ` +
    `CASE WHEN meta.compacted > $1 THEN EXISTS (SELECT FROM platform.idempotency_keys k WHERE k.rev = $2) ELSE false END AS known_spared`,
});
const ofModel = ' AND rev <= $2 AND model = $3';
/** Takes the revisions to read after and up to, and the model's number. */
export const readModelText = readText({ condition: ofModel, bytes: modelReadBytes });
/**
 * The same where all of it is small; else the first row without bodies, which says how large it is, and all of them.
 */
export const readModelBrieflyText =
  `SELECT meta.compacted, meta.epoch, c.* FROM platform.meta LEFT JOIN LATERAL (` +
  `SELECT ${facts}, size, written, mark, page_rows, page_bytes, ${bodies.map((body) => `CASE WHEN page_bytes <= ${briefBytes} THEN ${body} END AS ${body}`).join(', ')} ` +
  `FROM (SELECT *, row_number() OVER (ORDER BY rev) AS position, count(*) OVER () AS page_rows, sum(size) OVER () AS page_bytes FROM (${pageText(ofModel)}) page) sized ` +
  `WHERE page_bytes <= ${briefBytes} OR position = 1) c ON true ORDER BY c.rev`;

export interface LogRow {
  compacted: string;
  epoch: number;
  /** Of the row that was asked for; null if it is not there. */
  known_mark: string | null;
  /**
   * It may be there for the sake of an idempotency key only. Asked where history was declared void beyond the revision that is
   * read after.
   */
  known_spared: boolean;
  /** Rows found before large bodies cut them short. */
  page_rows: string | null;
  /** Of all of these, where that was asked for. */
  page_bytes?: string | null;
  /** Of the row's bodies, in bytes. */
  size: number | null;
  rev: string | null;
  mark: string | null;
  model: number;
  type: 'C' | 'U' | 'D' | 'M';
  namespace: string;
  name: string;
  prev: string | null;
  old: string | null;
  old_fingerprint: string | null;
  new: string | null;
  new_fingerprint: string | null;
  old_keys: string | null;
  new_keys: string | null;
  /** Seconds. */
  written: number | null;
}

/** When a row's change was written, by the database's clock, in milliseconds. */
export function writtenAtMs(row: LogRow): number {
  return (row.written ?? 0) * 1000;
}

/** Empty for the header row, and for a marker, which is no object's change. */
export function changeFromRow(row: LogRow): Change[] {
  if (row.rev === null || row.type === 'M') return [];
  const { namespace, name, old_keys, new_keys } = row;
  const change: Change = {
    revision: Number(row.rev),
    modelId: row.model,
    type: changeTypes[row.type],
    namespace,
    name,
    body: row.new ?? '',
    fingerprint: row.new_fingerprint ?? '',
    ...(row.prev === null
      ? {}
      : { old: { revision: Number(row.prev), body: row.old ?? '', fingerprint: row.old_fingerprint ?? '' } }),
  };
  return [old_keys === null && new_keys === null ? change : withKeys(change, new_keys, old_keys)];
}
