import type { Change } from '../../change.ts';
import { gapsText, type Gap } from '../history/gaps.ts';
import { changeTypes } from '../write/batch-operation.ts';
import { withKeys } from '../write/write-keys.ts';

/** Rows scanned at a time. */
export const maxReadRows = 1000;
/** Bytes of bodies read at a time by the reader of all changes; a single larger row is read alone. */
const readBytes = 4 * 1024 * 1024;
/** The same limit for the history of one model, which many watches may read at a time. */
export const modelReadBytes = 1024 * 1024;
/** Bytes of bodies read without reserving memory. */
export const briefBytes = 64 * 1024;

const facts = 'rev, model, type, namespace, name, prev, old_fingerprint, new_fingerprint';
const bodies = ['old', 'new', 'old_managed', 'new_managed', 'old_keys', 'new_keys'];
const columns = `${facts}, size, ${bodies.join(', ')}, extract(epoch FROM at)::float8 AS written`;
/** Distinguishes a row from one with the same revision in another history of the database. */
export const markOf = 'coalesce(batch::text, extract(epoch FROM at)::text)';

/**
 * The header row is returned even without a change. Sizes are summed so that only a few large bodies are read at a
 * time.
 */
function readText({ condition, bytes, header = '' }: { condition: string; bytes: number; header?: string }): string {
  return (
    `SELECT meta.compacted, meta.epoch${header}, c.* FROM platform.meta LEFT JOIN LATERAL (` +
    `SELECT * FROM (SELECT *, row_number() OVER (ORDER BY rev) AS position, sum(size) OVER (ORDER BY rev) AS so_far, count(*) OVER () AS page_rows FROM (${pageText(condition)}) page) sized ` +
    `WHERE so_far <= ${bytes} OR position = 1) c ON true ORDER BY c.rev`
  );
}

function pageText(condition: string): string {
  return `SELECT ${columns}, ${markOf} AS mark FROM platform.change_log WHERE rev > $1${condition} ORDER BY rev LIMIT ${maxReadRows}`;
}

const logHeader =
  `, ${gapsText} AS gaps, (SELECT ${markOf} FROM platform.change_log WHERE rev = $2) AS known_mark, ` +
  `CASE WHEN meta.compacted > $1 THEN EXISTS (SELECT FROM platform.idempotency_keys k WHERE k.rev = $2) ELSE false END AS known_spared`;
/**
 * Parameters: the revision to read after, and the revision of a row whose mark is read. Compaction removes the oldest
 * rows first, except rows that an idempotency key names: if a row without an idempotency key still exists, so do all
 * later rows.
 */
export const readLogText = readText({ condition: '', bytes: readBytes, header: logHeader });
/** The same, with a third parameter: the revision to read up to. */
export const readLogUpToText = readText({ condition: ' AND rev <= $3', bytes: readBytes, header: logHeader });
const ofModel = ' AND rev <= $2 AND model = $3';
/** Parameters: the revisions to read after and up to, and the model's number. */
export const readModelText = readText({ condition: ofModel, bytes: modelReadBytes });
/**
 * The same if all bodies together are small; otherwise the first row without bodies, with its own size and the size of
 * all.
 */
export const readModelBrieflyText =
  `SELECT meta.compacted, meta.epoch, c.* FROM platform.meta LEFT JOIN LATERAL (` +
  `SELECT ${facts}, size, written, mark, page_rows, page_bytes, ${bodies.map((body) => `CASE WHEN page_bytes <= ${briefBytes} THEN ${body} END AS ${body}`).join(', ')} ` +
  `FROM (SELECT *, row_number() OVER (ORDER BY rev) AS position, count(*) OVER () AS page_rows, sum(size) OVER () AS page_bytes FROM (${pageText(ofModel)}) page) sized ` +
  `WHERE page_bytes <= ${briefBytes} OR position = 1) c ON true ORDER BY c.rev`;

export interface LogRow {
  compacted: string;
  epoch: number;
  /** Only in reads of all changes. */
  gaps?: readonly Gap[] | null;
  /** Mark of the known row; null if the row does not exist. */
  known_mark: string | null;
  /**
   * The known row may exist only because an idempotency key names it. Checked only where history was declared void
   * beyond the revision to read after.
   */
  known_spared: boolean;
  /** Number of rows found, before the limit on bytes. */
  page_rows: string | null;
  /** Bytes of all these rows; only in brief reads. */
  page_bytes?: string | null;
  /** Bytes of the row's bodies. */
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
  old_managed: string | null;
  new_managed: string | null;
  old_keys: string | null;
  new_keys: string | null;
  /** Seconds. */
  written: number | null;
}

/** When a row's change was written, by the database's clock, in milliseconds. */
export function writtenAtMs(row: LogRow): number {
  return (row.written ?? 0) * 1000;
}

/** Empty for the header row, and for a marker, which is not a change of an object. */
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
    managed: row.new_managed ?? '',
    fingerprint: row.new_fingerprint ?? '',
    ...(row.prev === null
      ? {}
      : {
          old: {
            revision: Number(row.prev),
            body: row.old ?? '',
            managed: row.old_managed ?? '',
            fingerprint: row.old_fingerprint ?? '',
          },
        }),
  };
  return [old_keys === null && new_keys === null ? change : withKeys(change, new_keys, old_keys)];
}
