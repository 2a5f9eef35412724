import type { Table } from '../table/table.ts';
import type { BatchOperation } from './batch-operation.ts';
import type { BatchRow, BatchStatement } from './batch-statement.ts';
import {
  insertAuditRows,
  insertChanges,
  lockRevision,
  lockRow,
  notifyReplicas,
  parameters,
  selectAuditRows,
  selectChanges,
  selectLeaseHeld,
  selectWithinQuotas,
  writeRows,
  type BatchMark,
  type OperationParameter,
  type ValueSql,
} from './statement-parts.ts';

/** The only row of a single statement. */
export interface SingleRow {
  /** The change's revision; null if nothing was written. */
  rev: string | null;
  /** Revision of the row that was found and locked; null on create, and if there was none. */
  found: string | null;
  /**
   * The revision that this statement drew, used or not; null if it stopped before, or if the model's shape has changed.
   */
  drawn: string | null;
  /** For an operation with a fence: is it held? Null if the statement stopped before. */
  fence_holds?: boolean | null;
}

/**
 * A batch of one operation without an idempotency key: the same steps in the same order as `batchStatement`, with the
 * same guarantees, in a statement that costs PostgreSQL about half. A single writer pays for each statement alone. The
 * text depends only on table, type, whether there is a fence, whether the audit log keeps it, and whether a notification is
 * sent.
 */
export function singleStatement(operation: BatchOperation, mark: BatchMark): BatchStatement {
  const variant = {
    notify: mark.origin !== undefined,
    fenced: operation.fence !== undefined,
    audited: operation.audit !== undefined,
  };
  const { text, taken } = templateOf(operation.table, operation.type, variant);
  const placed = { operation, position: 0, mark };
  return { text, values: taken.map(({ value }) => value(placed)) };
}

interface Variant {
  notify: boolean;
  fenced: boolean;
  audited: boolean;
}

interface Template {
  text: string;
  /** In the order of their placeholders. */
  taken: readonly OperationParameter[];
}

const templates = new WeakMap<Table, Map<string, Template>>();

/** Cached per table and shape: the texts of a thousand models are worth the memory. */
function templateOf(table: Table, type: BatchOperation['type'], variant: Variant): Template {
  const known = templates.get(table) ?? new Map<string, Template>();
  templates.set(table, known);
  const key = `${type}${variant.notify ? '!' : ''}${variant.fenced ? '@' : ''}${variant.audited ? '+' : ''}`;
  const template = known.get(key) ?? makeTemplate(table, type, variant);
  known.set(key, template);
  return template;
}

function makeTemplate(table: Table, type: BatchOperation['type'], { notify, fenced, audited }: Variant): Template {
  const taken: OperationParameter[] = [];
  const placeholders = new Map<string, string>();
  const value: ValueSql = (parameter) => {
    const known = placeholders.get(parameter.column);
    if (known !== undefined) return known;
    const placeholder = `$${taken.push(parameter)}::${parameter.type}`;
    placeholders.set(parameter.column, placeholder);
    return placeholder;
  };
  const isCreate = type === 'C';
  const hasKeys = table.computed !== undefined;
  const mayWrite = `${fenced ? 'fence.holds AND ' : ''}platform.shape_is(${table.id}, ${table.shape})`;
  const rows = { table, value, revision: 'drawn.rev', from: 'drawn' };
  const parts = [
    ...(isCreate
      ? [lockRevision('')]
      : [
          `held AS MATERIALIZED (${lockRow(table, value(parameters.namespace), value(parameters.name))})`,
          lockRevision(` FROM held WHERE held.found = ${value(parameters.expected)}`),
        ]),
    ...(fenced ? [`fence AS MATERIALIZED (SELECT ${selectLeaseHeld(value)} FROM locked)`] : []),
    `drawn AS MATERIALIZED (SELECT CASE WHEN ${mayWrite} THEN nextval('platform.revision') END AS rev FROM ${fenced ? 'fence' : 'locked'})`,
    `written AS (${writeRows(type, { ...rows, withinQuotas: (of, added) => selectWithinQuotas(of, added, rows) }, 'drawn.rev IS NOT NULL')})`,
    insertChanges(
      selectChanges({
        table,
        value,
        revision: 'written.rev',
        type: `'${type}'`,
        batch: value(parameters.batch),
        old: isCreate ? undefined : 'held',
        hasKeys,
        from: isCreate ? 'written' : 'written, held',
      }),
      hasKeys,
    ),
    ...(audited ? [insertAuditRows(selectAuditRows({ table, value, revision: 'logged.rev', from: 'logged' }))] : []),
    ...(notify ? [notifyReplicas(value(parameters.origin), 'logged')] : []),
  ];
  const text =
    `WITH ${parts.join(',\n')}\n` +
    `SELECT (SELECT rev FROM logged) AS rev, ${isCreate ? 'NULL' : '(SELECT found FROM held)'} AS found, (SELECT rev FROM drawn) AS drawn${fenced ? ', (SELECT holds FROM fence) AS fence_holds' : ''}${notify ? ', (SELECT count(*) FROM notified) AS notified' : ''}`;
  return { text, taken };
}

/**
 * Converts the row to one of a batch. A create is always ready, any other operation once its row has the expected
 * revision: if a ready operation drew no revision, the shape has changed, unless its fence was lost.
 */
export function batchRowOf(
  { type, from }: BatchOperation,
  { rev, found, drawn, fence_holds = null }: SingleRow,
): BatchRow {
  const isReady = type === 'C' || (found !== null && Number(found) === from?.revision);
  const isFenceLost = fence_holds === false;
  const shapesMatch = isReady && !isFenceLost ? drawn !== null : null;
  return { i: 0, rev, found, shapes_match: shapesMatch, is_fence_lost: isFenceLost, first: drawn, last: drawn };
}
