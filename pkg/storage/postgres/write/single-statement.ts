import { changesChannel } from '../connection/replica-presence.ts';
import { revisionLock } from '../connection/revision-lock.ts';
import { fenceValues } from '../table/lease-fence.ts';
import { toSqlValue, toSqlArray, arrayLiteral } from '../table/sql-value.ts';
import { sqlType, tableName, type Column, type Table, isNamespaces } from '../table/table.ts';
import type { BatchMark, BatchRow, BatchStatement } from './batch-statement.ts';
import type { BatchOperation } from './batch-operation.ts';

/** The only row of a single statement. */
export interface SingleRow {
  /** The change's revision; null if nothing was written. */
  rev: string | null;
  /** Revision of the row that was found and locked; null on create, and if there was none. */
  found: string | null;
  /**
   * The revision this statement drew, used or not; null if it did not get as far, or if the model has another shape by
   * now.
   */
  drawn: string | null;
  /** Of an operation with a fence: does it hold? Null if the statement did not get as far. */
  fence_holds?: boolean | null;
}

/**
 * A batch of one operation without an idempotency key: the same steps in the same order as `batchStatement`, with the same
 * guarantees, in a statement that costs PostgreSQL about half. A lone writer pays for each by itself. Its text depends
 * on nothing but table, type, whether there is a fence, and whether anybody is told.
 */
export function singleStatement(operation: BatchOperation, { batch, origin }: BatchMark): BatchStatement {
  const {
    table,
    type,
    namespace,
    name,
    from,
    uid,
    created,
    deleted,
    labels,
    fingerprint,
    body,
    keys,
    fence,
    computed,
  } = operation;
  const values: unknown[] = [namespace, name, fingerprint, body, batch];
  if (type !== 'C') values.push(from?.revision);
  if (fence !== undefined) values.push(...fenceValues(fence));
  if (type === 'C') values.push(uid, created);
  if (type !== 'D')
    values.push(deleted, arrayLiteral(labels), ...table.columns.map((column, i) => columnValue(column, keys[i])));
  if (computed !== undefined) values.push(computed.oldText, computed.text);
  if (origin !== undefined) values.push(origin);
  return { text: textOf(table, type, { notify: origin !== undefined, fenced: fence !== undefined }), values };
}

function columnValue({ index }: Column, key: BatchOperation['keys'][number] | undefined): unknown {
  const isDate = index.type === 'date';
  return index.multi ? arrayLiteral(toSqlArray(key, isDate)) : toSqlValue(key, isDate);
}

interface Variant {
  notify: boolean;
  fenced: boolean;
}

const texts = new WeakMap<Table, Map<string, string>>();

/** Made once for a table as of one shape: the texts of a thousand models are worth more than the time to make them. */
function textOf(table: Table, type: BatchOperation['type'], variant: Variant): string {
  const known = texts.get(table) ?? new Map<string, string>();
  texts.set(table, known);
  const key = `${type}${variant.notify ? '!' : ''}${variant.fenced ? '@' : ''}`;
  const text = known.get(key) ?? makeText(table, type, variant);
  known.set(key, text);
  return text;
}

function makeText(table: Table, type: BatchOperation['type'], { notify, fenced }: Variant): string {
  const m = tableName(table);
  const { columns } = table;
  let parameters = 5;
  const next = (sqlTypeName: string): string => `$${(parameters += 1)}::${sqlTypeName}`;
  const key = 'm.namespace = $1::text AND m.name = $2::text';
  const parts: string[] = [];
  if (type !== 'C') {
    parts.push(
      `found AS MATERIALIZED (SELECT m.rev, m.body, m.fingerprint FROM ${m} m WHERE ${key} FOR UPDATE OF m)`,
      `locked AS MATERIALIZED (SELECT pg_advisory_xact_lock(${revisionLock}) FROM found WHERE found.rev = ${next('bigint')})`,
    );
  } else {
    parts.push(`locked AS MATERIALIZED (SELECT pg_advisory_xact_lock(${revisionLock}))`);
  }
  if (fenced)
    parts.push(
      `fence AS MATERIALIZED (SELECT platform.lease_held(${next('text')}, ${next('text')}, ${next('int')}) AS holds FROM locked)`,
    );
  const shapeIs = `platform.shape_is(${table.id}, ${table.shape})`;
  parts.push(
    `drawn AS MATERIALIZED (SELECT CASE WHEN ${fenced ? `fence.holds AND ${shapeIs}` : shapeIs} THEN nextval('platform.revision') END AS rev FROM ${fenced ? 'fence' : 'locked'})`,
  );
  if (type === 'C') {
    const guard = table.namespaced ? ' AND platform.namespace_exists($1::text, drawn.rev)' : '';
    parts.push(
      `written AS (INSERT INTO ${m} (namespace, name, rev, fingerprint, body, uid, created, deleted, labels${columns.map(({ name }) => `, ${name}`).join('')}) ` +
        `SELECT $1::text, $2::text, drawn.rev, $3::text, $4::text, ${next('uuid')}, ${next('timestamptz')}, ${next('timestamptz')}, ${next('text[]')}${columns.map((column) => `, ${next(columnType(column))}`).join('')} ` +
        `FROM drawn WHERE drawn.rev IS NOT NULL${guard} ON CONFLICT DO NOTHING RETURNING rev)`,
    );
  } else if (type === 'U') {
    parts.push(
      `written AS (UPDATE ${m} m SET rev = drawn.rev, fingerprint = $3::text, body = $4::text, deleted = ${next('timestamptz')}, labels = ${next('text[]')}` +
        `${columns.map((column) => `, ${column.name} = ${next(columnType(column))}`).join('')} FROM drawn WHERE ${key} AND drawn.rev IS NOT NULL RETURNING m.rev)`,
    );
  } else {
    const guard = isNamespaces(table) ? ' AND NOT platform.namespace_in_use($2::text, drawn.rev)' : '';
    parts.push(
      `written AS (DELETE FROM ${m} m USING drawn WHERE ${key} AND drawn.rev IS NOT NULL${guard} RETURNING drawn.rev)`,
    );
  }
  const old =
    type === 'C'
      ? { size: '', values: 'NULL, NULL, NULL', from: '' }
      : { size: ' + octet_length(found.body)', values: 'found.rev, found.body, found.fingerprint', from: ', found' };
  const logKeys = table.computed === undefined ? undefined : { old: next('text'), new: next('text') };
  const keys =
    logKeys === undefined
      ? { columns: '', values: '', size: '' }
      : {
          columns: ', old_keys, new_keys',
          values: `, ${logKeys.old}, ${logKeys.new}`,
          size: ` + coalesce(octet_length(${logKeys.old}), 0) + coalesce(octet_length(${logKeys.new}), 0)`,
        };
  parts.push(
    `logged AS (INSERT INTO platform.change_log (rev, size, model, type, namespace, name, prev, old, old_fingerprint, new, new_fingerprint, batch${keys.columns}) ` +
      `SELECT written.rev, octet_length($4::text)${old.size}${keys.size}, ${table.id}, '${type}', $1::text, $2::text, ${old.values}, $4::text, $3::text, $5::uuid${keys.values} FROM written${old.from} RETURNING rev)`,
  );
  if (notify)
    parts.push(`notified AS MATERIALIZED (SELECT pg_notify('${changesChannel}', ${next('text')}) FROM logged)`);
  return (
    `WITH ${parts.join(',\n')}\n` +
    `SELECT (SELECT rev FROM logged) AS rev, ${type === 'C' ? 'NULL' : '(SELECT rev FROM found)'} AS found, (SELECT rev FROM drawn) AS drawn${fenced ? ', (SELECT holds FROM fence) AS fence_holds' : ''}${notify ? ', (SELECT count(*) FROM notified) AS notified' : ''}`
  );
}

function columnType({ index }: Column): string {
  return index.multi ? `${sqlType(index)}[]` : sqlType(index);
}

/**
 * The row as one of a batch. A create is ready as it is, any other once its row has the expected revision: what was
 * ready and drew nothing met another shape, unless it was its fence.
 */
export function batchRowOf(
  { type, from }: BatchOperation,
  { rev, found, drawn, fence_holds = null }: SingleRow,
): BatchRow {
  const isReady = type === 'C' || (found !== null && Number(found) === from?.revision);
  const shapesMatch = isReady && fence_holds !== false ? drawn !== null : null;
  return { i: 0, rev, found, shapes_match: shapesMatch, fence_holds, first: drawn, last: drawn };
}
