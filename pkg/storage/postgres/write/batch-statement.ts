import type { Fence } from '#pkg/apimachinery/index';
import { changesChannel } from '../connection/replica-presence.ts';
import { revisionLock } from '../connection/revision-lock.ts';
import { fenceValues } from '../table/lease-fence.ts';
import { textArray, toSqlValue, toSqlArray, arrayLiteral } from '../table/sql-value.ts';
import { sqlType, tableName, type Column, type Table, isNamespaces } from '../table/table.ts';
import type { BatchOperation } from './batch-operation.ts';

export interface BatchStatement {
  text: string;
  values: unknown[];
}

/** How the batch is known. */
export interface BatchMark {
  /** In the log. */
  batch: string;
  /** In the notification; undefined if nobody is to be told. */
  origin: string | undefined;
}

/** What a statement answers for one operation. */
export interface BatchRow {
  i: number;
  /** The change's revision; null if nothing was written for this operation. */
  rev: string | null;
  /** Revision of the row that was found and locked; null if there was none. */
  found: string | null;
  /** False if a model has another shape by now: nothing was written. Null if no operation got as far as the lock. */
  shapes_match: boolean | null;
  /**
   * False if the fence is lost: nothing was written for the operations that carry it. Null as for `shapes_match`, and
   * without a fence.
   */
  fence_holds: boolean | null;
  /** The revisions this batch drew, used or not. */
  first: string | null;
  last: string | null;
}

/** A row as the statement answers it: none for an operation that found no row, and one at least. */
export type SentRow = Omit<BatchRow, 'i' | 'fence_holds'> & { i: number | null; fence_holds?: boolean | null };

/** A row for each operation, in their order. */
export function batchRows(count: number, sent: readonly SentRow[]): BatchRow[] {
  const [{ shapes_match, fence_holds = null, first, last } = { shapes_match: null, first: null, last: null }] = sent;
  const header = { shapes_match, fence_holds, first, last };
  const rows: BatchRow[] = Array.from({ length: count }, (_, i) => ({ i, rev: null, found: null, ...header }));
  for (const { i, rev, found } of sent) if (i !== null) rows[i] = { i, rev, found, ...header };
  return rows;
}

/**
 * All operations as one autocommit statement: lock the rows in key order, check their revisions, take the revision
 * lock, check the shapes and the fence, number, write, log, idempotency key, notify. `operations` touch no key, unique value or
 * idempotency key twice; all fences are the same, and none writes its lease. An idempotency key that somebody has used fails the whole
 * statement: `usedIdempotencyKeys` finds it. Source of the order and its proof: docs/concepts.md, "One order for all changes".
 */
export function batchStatement(operations: readonly BatchOperation[], mark: BatchMark): BatchStatement {
  const builder = new StatementBuilder(operations, mark);
  return builder.build();
}

interface Parameter {
  column: string;
  type: string;
  value(operation: BatchOperation, position: number): unknown;
}

interface Group {
  table: Table;
  operations: { operation: BatchOperation; position: number }[];
}

class StatementBuilder {
  readonly #operations: readonly BatchOperation[];
  readonly #groups: Group[];
  readonly #mark: BatchMark;
  readonly #values: unknown[] = [];
  readonly #fence: Fence | undefined;
  readonly #hasIdempotencyKeys: boolean;
  /** Does the log get computed keys? */
  readonly #computes: boolean;

  constructor(operations: readonly BatchOperation[], mark: BatchMark) {
    this.#operations = operations;
    this.#groups = groupByTable(operations);
    this.#mark = mark;
    this.#computes = this.#groups.some(({ table }) => table.computed !== undefined);
    this.#hasIdempotencyKeys = operations.some(({ idempotencyKey }) => idempotencyKey !== undefined);
    this.#fence = operations.find(({ fence }) => fence !== undefined)?.fence;
  }

  build(): BatchStatement {
    const groups = this.#groups.map((group, g) => this.#groupParts(group, g));
    const union = (part: (group: GroupParts) => string[]): string => groups.flatMap(part).join(' UNION ALL ');
    const models = this.#bind(
      this.#groups.map(({ table }) => table.id),
      'int[]',
    );
    const shapes = this.#bind(
      this.#groups.map(({ table }) => table.shape),
      'int[]',
    );
    const hasCreates = this.#operations.some(({ type }) => type === 'C');
    const ready = [...(hasCreates ? ['SELECT 1'] : []), ...groups.flatMap((group) => group.ready)].join(' UNION ALL ');
    const parts = [
      ...groups.flatMap((group) => group.before),
      `locked AS MATERIALIZED (SELECT pg_advisory_xact_lock(${revisionLock}) FROM (SELECT count(*) AS n FROM (${ready}) r) c WHERE c.n > 0)`,
      `checked AS MATERIALIZED (SELECT platform.shapes_match(${models}, ${shapes}) AS ok${this.#fenceCheck()} FROM locked)`,
      ...groups.flatMap((group) => group.writes),
      `written AS MATERIALIZED (${union((group) => group.written)})`,
      `logged AS (INSERT INTO platform.change_log (rev, size, model, type, namespace, name, prev, old, old_fingerprint, new, new_fingerprint, batch${this.#computes ? ', old_keys, new_keys' : ''}) ` +
        `${union((group) => group.log(this.#bind(this.#mark.batch, 'uuid')))} RETURNING rev)`,
      ...(this.#hasIdempotencyKeys
        ? [
            `claimed AS (INSERT INTO platform.idempotency_keys (username, method, path, key, body_hash, rev) ${union((group) => group.idempotencyKeys)})`,
          ]
        : []),
      ...this.#notifyParts(),
    ];
    const drawn = (aggregate: string): string => `(SELECT ${aggregate}(rev) FROM (${union((group) => group.drawn)}) d)`;
    const text =
      `WITH ${parts.join(',\n')}\n` +
      `SELECT a.i, CASE WHEN ${isIn('a.rev', 'logged')} THEN a.rev END AS rev, a.found, (SELECT ok FROM checked) AS shapes_match, ${this.#fence === undefined ? '' : '(SELECT holds FROM checked) AS fence_holds, '}${drawn('min')} AS first, ` +
      `${drawn('max')} AS last${this.#mark.origin === undefined ? '' : ', (SELECT count(*) FROM notified) AS notified'} ` +
      `FROM (SELECT 1) header LEFT JOIN (${union((group) => group.outcome)}) a ON true`;
    return { text, values: this.#values };
  }

  #groupParts(group: Group, g: number): GroupParts {
    const { table } = group;
    const kinds = new Set(group.operations.map(({ operation }) => operation.type));
    const touchesRows = kinds.has('U') || kinds.has('D');
    const [input, held, numbered] = [`input_${g}`, `held_${g}`, `numbered_${g}`];
    const m = tableName(table);
    const key = 'm.namespace = n.namespace AND m.name = n.name';
    const names = [
      'i',
      'op',
      'namespace',
      'name',
      'uid',
      'created',
      'deleted',
      'labels',
      'fingerprint',
      'body',
      ...(this.#fence === undefined ? [] : ['fenced']),
      ...(this.#hasIdempotencyKeys ? idempotencyColumns : []),
      ...(table.computed === undefined ? [] : ['old_keys', 'new_keys']),
      ...table.columns.map(({ name }) => name),
    ].join(', ');
    const columns = table.columns.map(({ name }) => `, ${name}`).join('');
    const columnValues = table.columns.map((column) => `, ${columnValue('n', column)}`).join('');
    const ready = `${held}.expected = ${held}.found`;
    const parts: GroupParts = {
      before: [`${input} AS (${this.#input(group)})`],
      ready: [],
      writes: [],
      written: [],
      log: () => [],
      idempotencyKeys: [],
      drawn: [`SELECT rev FROM ${numbered}`],
      outcome: [],
    };
    parts.idempotencyKeys.push(
      `SELECT ${idempotencyColumns.map((column) => `n.${column}`).join(', ')}, n.rev FROM ${numbered} n WHERE n.claim_key IS NOT NULL AND ${isIn('n.rev', 'logged')}`,
    );
    if (touchesRows) {
      // One look at the key's index for each, whatever the planner takes the sizes to be.
      parts.before.push(
        `${held} AS MATERIALIZED (SELECT s.*, h.* FROM (SELECT * FROM ${input} WHERE op <> 'C' ORDER BY namespace COLLATE "C", name COLLATE "C") s CROSS JOIN LATERAL ` +
          `(SELECT m.rev AS found, m.body AS old_body, m.fingerprint AS old_fingerprint FROM ${m} m WHERE m.namespace = s.namespace AND m.name = s.name FOR UPDATE) h)`,
      );
      parts.ready.push(`SELECT 1 FROM ${held} WHERE ${ready}`);
      parts.outcome.push(
        `SELECT i, NULL::bigint AS rev, found FROM ${held} WHERE NOT ${ready} OR NOT (SELECT ok FROM checked)`,
      );
    }
    parts.outcome.push(`SELECT i, rev, found FROM ${numbered}`);
    const from = [
      ...(touchesRows ? [`SELECT ${names}, found, old_body, old_fingerprint FROM ${held} WHERE ${ready}`] : []),
      ...(kinds.has('C')
        ? [
            `SELECT ${names}, NULL::bigint AS found, NULL::text AS old_body, NULL::text AS old_fingerprint FROM ${input} WHERE op = 'C'`,
          ]
        : []),
    ].join(' UNION ALL ');
    parts.writes.push(
      `${numbered} AS MATERIALIZED (SELECT r.*, nextval('platform.revision') AS rev FROM (SELECT * FROM (${from}) u ORDER BY i) r, checked WHERE checked.ok${this.#fence === undefined ? '' : ' AND (checked.holds OR NOT r.fenced)'})`,
    );
    const isComputed = table.computed !== undefined;
    const logged = !this.#computes ? '' : isComputed ? ', n.old_keys, n.new_keys' : ', NULL::text, NULL::text';
    const keysSize = isComputed
      ? ' + coalesce(octet_length(n.old_keys), 0) + coalesce(octet_length(n.new_keys), 0)'
      : '';
    parts.log = (batch) => [
      `SELECT n.rev, octet_length(n.body) + coalesce(octet_length(n.old_body), 0)${keysSize}, ${table.id}, n.op, n.namespace, n.name, n.found, n.old_body, n.old_fingerprint, n.body, n.fingerprint, ${batch}${logged} ` +
        `FROM ${numbered} n WHERE ${isIn('n.rev', 'written')}`,
    ];
    if (kinds.has('C')) {
      const guard = table.namespaced ? ' AND platform.namespace_exists(n.namespace, n.rev)' : '';
      parts.writes.push(
        `created_${g} AS (INSERT INTO ${m} (namespace, name, rev, uid, created, deleted, labels, fingerprint, body${columns}) ` +
          `SELECT n.namespace, n.name, n.rev, n.uid, n.created, n.deleted, n.labels::text[], n.fingerprint, n.body${columnValues} ` +
          `FROM ${numbered} n WHERE n.op = 'C'${guard} ON CONFLICT DO NOTHING RETURNING rev)`,
      );
      parts.written.push(`SELECT rev FROM created_${g}`);
    }
    if (kinds.has('U')) {
      const assigned = table.columns.map((column) => `, ${column.name} = ${columnValue('n', column)}`).join('');
      parts.writes.push(
        `updated_${g} AS (UPDATE ${m} m SET rev = n.rev, deleted = n.deleted, labels = n.labels::text[], fingerprint = n.fingerprint, body = n.body${assigned} ` +
          `FROM ${numbered} n WHERE ${key} AND n.op = 'U' RETURNING m.rev)`,
      );
      parts.written.push(`SELECT rev FROM updated_${g}`);
    }
    if (kinds.has('D')) {
      const guard = isNamespaces(table) ? ' AND NOT platform.namespace_in_use(n.name, n.rev)' : '';
      parts.writes.push(
        `deleted_${g} AS (DELETE FROM ${m} m USING ${numbered} n WHERE ${key} AND n.op = 'D'${guard} RETURNING n.rev)`,
      );
      parts.written.push(`SELECT rev FROM deleted_${g}`);
    }
    return parts;
  }

  /**
   * One array a column for several operations; a single one comes as plain values, which is cheaper to plan and to
   * send.
   */
  #input(group: Group): string {
    const parameters = [
      ...fixedParameters,
      ...(this.#fence === undefined ? [] : [fencedParameter]),
      ...(this.#hasIdempotencyKeys ? idempotencyParameters : []),
      ...(group.table.computed === undefined ? [] : computedParameters),
      ...group.table.columns.map(columnParameter),
    ];
    if (this.#operations.length === 1) {
      const { operation, position } = group.operations[0]!;
      return `SELECT ${parameters.map((p) => `${this.#bind(p.value(operation, position), p.type)} AS ${p.column}`).join(', ')}`;
    }
    const arrays = parameters.map((p) => this.#bind(arrayOf(p, group), `${p.type}[]`));
    return `SELECT * FROM unnest(${arrays.join(', ')}) AS t(${parameters.map((p) => p.column).join(', ')})`;
  }

  /** The lease is read after the lock is won, and before anything of this statement is written. */
  #fenceCheck(): string {
    if (this.#fence === undefined) return '';
    const [namespace, lease, transitions] = fenceValues(this.#fence);
    return `, platform.lease_held(${this.#bind(namespace, 'text')}, ${this.#bind(lease, 'text')}, ${this.#bind(transitions, 'int')}) AS holds`;
  }

  #notifyParts(): string[] {
    const { origin } = this.#mark;
    return origin === undefined
      ? []
      : [
          `notified AS MATERIALIZED (SELECT pg_notify('${changesChannel}', ${this.#bind(origin, 'text')}) FROM locked WHERE EXISTS (SELECT FROM logged))`,
        ];
  }

  #bind(value: unknown, type: string): string {
    this.#values.push(value);
    return `$${this.#values.length}::${type}`;
  }
}

interface GroupParts {
  before: string[];
  ready: string[];
  writes: string[];
  written: string[];
  log(batch: string): string[];
  idempotencyKeys: string[];
  drawn: string[];
  outcome: string[];
}

/**
 * Looked up in a table of hashes, made once; a join would compare each with each, as the planner expects one row of
 * everything here.
 */
function isIn(revision: string, set: 'written' | 'logged'): string {
  return `(${revision} IN (SELECT rev FROM ${set})) IS TRUE`;
}

const fixedParameters: Parameter[] = [
  { column: 'i', type: 'int', value: (_, position) => position },
  { column: 'op', type: '"char"', value: (operation) => operation.type },
  { column: 'namespace', type: 'text', value: (operation) => operation.namespace },
  { column: 'name', type: 'text', value: (operation) => operation.name },
  { column: 'expected', type: 'bigint', value: (operation) => operation.from?.revision ?? null },
  { column: 'uid', type: 'uuid', value: (operation) => operation.uid },
  { column: 'created', type: 'timestamptz', value: (operation) => operation.created },
  { column: 'deleted', type: 'timestamptz', value: (operation) => operation.deleted },
  { column: 'labels', type: 'text', value: (operation) => arrayLiteral(operation.labels) },
  { column: 'fingerprint', type: 'text', value: (operation) => operation.fingerprint },
  { column: 'body', type: 'text', value: (operation) => operation.body },
];

const fencedParameter: Parameter = {
  column: 'fenced',
  type: 'boolean',
  value: (operation) => operation.fence !== undefined,
};

/** Null of an operation without an idempotency key. */
const idempotencyParameters: Parameter[] = [
  { column: 'claim_user', type: 'text', value: ({ idempotencyKey }) => idempotencyKey?.user ?? null },
  { column: 'claim_method', type: 'text', value: ({ idempotencyKey }) => idempotencyKey?.method ?? null },
  { column: 'claim_path', type: 'text', value: ({ idempotencyKey }) => idempotencyKey?.path ?? null },
  { column: 'claim_key', type: 'text', value: ({ idempotencyKey }) => idempotencyKey?.key ?? null },
  { column: 'claim_hash', type: 'text', value: ({ idempotencyKey }) => idempotencyKey?.bodyHash ?? null },
];
const idempotencyColumns = idempotencyParameters.map(({ column }) => column);

const computedParameters: Parameter[] = [
  { column: 'old_keys', type: 'text', value: (operation) => operation.computed?.oldText ?? null },
  { column: 'new_keys', type: 'text', value: (operation) => operation.computed?.text ?? null },
];

function arrayOf(parameter: Parameter, { operations }: Group): unknown {
  const values = operations.map(({ operation, position }) => parameter.value(operation, position));
  return parameter.type === 'text' ? textArray(values as (string | null)[]) : values;
}

/** Sets travel as array literals: an array of arrays of different lengths is nothing PostgreSQL knows. */
function columnParameter(column: Column, position: number): Parameter {
  const { index } = column;
  if (index.multi)
    return {
      column: column.name,
      type: 'text',
      value: (operation) => arrayLiteral(toSqlArray(operation.keys[position], index.type === 'date')),
    };
  return {
    column: column.name,
    type: sqlType(index),
    value: (operation) => toSqlValue(operation.keys[position] ?? null, index.type === 'date'),
  };
}

function columnValue(source: string, column: Column): string {
  return column.index.multi ? `${source}.${column.name}::${sqlType(column.index)}[]` : `${source}.${column.name}`;
}

/** Tables in the order of their ids, so that two replicas lock in the same order. */
function groupByTable(operations: readonly BatchOperation[]): Group[] {
  const groups = new Map<number, Group>();
  for (const [position, operation] of operations.entries()) {
    const { table } = operation;
    const group = groups.get(table.id) ?? { table, operations: [] };
    group.operations.push({ operation, position });
    groups.set(table.id, group);
  }
  return [...groups.values()].toSorted((a, b) => a.table.id - b.table.id);
}
