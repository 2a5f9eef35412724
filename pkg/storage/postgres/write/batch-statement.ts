import { formatFence, type Fence } from '#pkg/apimachinery/index';
import { fenceValues } from '../table/lease-fence.ts';
import { textArray } from '../table/sql-value.ts';
import { allModels } from '../table/limited-tables.ts';
import type { Table } from '../table/table.ts';
import type { BatchOperation } from './batch-operation.ts';
import {
  auditParameters,
  columnParameters,
  countOf,
  idempotencyParameters,
  insertAuditRows,
  insertChanges,
  lockRevision,
  lockRow,
  notifyReplicas,
  parameters,
  selectAuditRows,
  selectChanges,
  writeRows,
  type BatchMark,
  type OperationParameter,
  type PlacedOperation,
  type WritableRows,
} from './statement-parts.ts';

export interface BatchStatement {
  text: string;
  values: unknown[];
}

/** The result of a statement for one operation. */
export interface BatchRow {
  i: number;
  /** The change's revision; null if nothing was written for this operation. */
  rev: string | null;
  /** Revision of the row that was found and locked; null if there was none. */
  found: string | null;
  /** False if a model's shape has changed: nothing was written. Null if no operation reached the lock. */
  shapes_match: boolean | null;
  /** The operation was not written, because its fence is lost. */
  is_fence_lost: boolean;
  /** The revisions this batch drew, used or not. */
  first: string | null;
  last: string | null;
}

/** A row of the statement's result: at least one row, but none for an operation that found no row. */
export type SentRow = Omit<BatchRow, 'i' | 'is_fence_lost'> & {
  i: number | null;
  /** Positions in `fencesOf` the operations; null if none is lost. */
  lost_fences?: number[] | null;
};

/** Returns a row for each operation, in their order. */
export function batchRows(operations: readonly BatchOperation[], sent: readonly SentRow[]): BatchRow[] {
  const [{ shapes_match, lost_fences, first, last } = { shapes_match: null, first: null, last: null }] = sent;
  const header = { shapes_match, first, last };
  const fences = fencesOf(operations);
  const rows = operations.map((operation, i): BatchRow => {
    const fence = fences.of(operation);
    const isLost = fence !== null && lost_fences?.includes(fence) === true;
    return { i, rev: null, found: null, is_fence_lost: isLost, ...header };
  });
  for (const { i, rev, found } of sent) if (i !== null) Object.assign(rows[i]!, { rev, found });
  return rows;
}

/** The different fences of the operations, and the position of an operation's own in them; null without a fence. */
function fencesOf(operations: readonly BatchOperation[]): {
  all: Fence[];
  of(operation: BatchOperation): number | null;
} {
  const all = new Map<string, { fence: Fence; position: number }>();
  for (const { fence } of operations) {
    const token = fence === undefined ? undefined : formatFence(fence);
    if (token !== undefined && !all.has(token)) all.set(token, { fence: fence!, position: all.size });
  }
  return {
    all: Array.from(all.values(), ({ fence }) => fence),
    of: ({ fence }) => (fence === undefined ? null : all.get(formatFence(fence))!.position),
  };
}

/**
 * All operations as one autocommit statement: lock the rows in key order, check their revisions, take the revision
 * lock, check the shapes and the fences, number, write, log, audit, idempotency key, notify. `operations` touch no key, unique
 * value or idempotency key twice, and none writes the lease of a fence. A used idempotency key fails the
 * whole statement: `usedIdempotencyKeys` finds it. Source of the order and its proof: docs/concepts.md, "One order for
 * all changes".
 */
export function batchStatement(operations: readonly BatchOperation[], mark: BatchMark): BatchStatement {
  const builder = new StatementBuilder(operations, mark);
  return builder.build();
}

interface Group {
  table: Table;
  operations: PlacedOperation[];
}

class StatementBuilder {
  readonly #operations: readonly PlacedOperation[];
  readonly #groups: Group[];
  readonly #mark: BatchMark;
  readonly #values: unknown[] = [];
  readonly #fences: ReturnType<typeof fencesOf>;
  readonly #hasIdempotencyKeys: boolean;
  readonly #isAudited: boolean;
  /** Does the batch log computed keys? */
  readonly #hasKeys: boolean;

  constructor(operations: readonly BatchOperation[], mark: BatchMark) {
    this.#operations = operations.map((operation, position) => ({ operation, position, mark }));
    this.#groups = groupByTable(this.#operations);
    this.#mark = mark;
    this.#hasKeys = this.#groups.some(({ table }) => table.computed !== undefined);
    this.#hasIdempotencyKeys = operations.some(({ idempotencyKey }) => idempotencyKey !== undefined);
    this.#isAudited = operations.some(({ audit }) => audit !== undefined);
    this.#fences = fencesOf(operations);
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
    const hasCreates = this.#operations.some(({ operation }) => operation.type === 'C');
    const ready = [...(hasCreates ? ['SELECT 1'] : []), ...groups.flatMap((group) => group.ready)].join(' UNION ALL ');
    const parts = [
      ...groups.flatMap((group) => group.before),
      lockRevision(` FROM (SELECT count(*) AS n FROM (${ready}) r) c WHERE c.n > 0`),
      `checked AS MATERIALIZED (SELECT platform.shapes_match(${models}, ${shapes}) AS ok FROM locked)`,
      ...this.#fenceCheck(),
      ...groups.flatMap((group) => group.numbered),
      ...this.#quotaCheck(groups),
      ...groups.flatMap((group) => group.writes),
      `written AS MATERIALIZED (${union((group) => group.written)})`,
      insertChanges(
        union((group) => group.log(this.#bind(this.#mark.batch, 'uuid'))),
        this.#hasKeys,
      ),
      ...(this.#isAudited ? [insertAuditRows(union((group) => group.audit))] : []),
      ...(this.#hasIdempotencyKeys
        ? [
            `claimed AS (INSERT INTO platform.idempotency_keys (username, method, path, key, body_hash, rev) ${union((group) => group.idempotencyKeys)})`,
          ]
        : []),
      ...(this.#mark.origin === undefined
        ? []
        : [notifyReplicas(this.#bind(this.#mark.origin, 'text'), 'locked WHERE EXISTS (SELECT FROM logged)')]),
    ];
    const drawn = (aggregate: string): string => `(SELECT ${aggregate}(rev) FROM (${union((group) => group.drawn)}) d)`;
    const text =
      `WITH ${parts.join(',\n')}\n` +
      `SELECT a.i, CASE WHEN ${isIn('a.rev', 'logged')} THEN a.rev END AS rev, a.found, (SELECT ok FROM checked) AS shapes_match, ${this.#isFenced ? '(SELECT array_agg(fence) FROM lost) AS lost_fences, ' : ''}${drawn('min')} AS first, ` +
      `${drawn('max')} AS last${this.#mark.origin === undefined ? '' : ', (SELECT count(*) FROM notified) AS notified'} ` +
      `FROM (SELECT 1) header LEFT JOIN (${union((group) => group.outcome)}) a ON true`;
    return { text, values: this.#values };
  }

  #groupParts(group: Group, g: number): GroupParts {
    const { table } = group;
    const types = new Set(group.operations.map(({ operation }) => operation.type));
    const touchesRows = types.has('U') || types.has('D');
    const [input, held, numbered] = [`input_${g}`, `held_${g}`, `numbered_${g}`];
    const inputs = this.#inputsOf(table);
    const names = inputs
      .filter(({ column }) => column !== 'expected')
      .map(({ column }) => column)
      .join(', ');
    const ready = `${held}.expected = ${held}.found`;
    const parts: GroupParts = {
      before: [`${input} AS (${this.#input(group, inputs)})`],
      ready: [],
      numbered: [],
      quota: [],
      writes: [],
      written: [],
      log: () => [],
      audit: [],
      idempotencyKeys: [],
      drawn: [`SELECT rev FROM ${numbered}`],
      outcome: [],
    };
    parts.idempotencyKeys.push(
      `SELECT ${idempotencyColumns.map((column) => `n.${column}`).join(', ')}, n.rev FROM ${numbered} n WHERE n.claim_key IS NOT NULL AND ${isIn('n.rev', 'logged')}`,
    );
    if (touchesRows) {
      // One index lookup per key, whatever table sizes the planner assumes.
      parts.before.push(
        `${held} AS MATERIALIZED (SELECT s.*, h.* FROM (SELECT * FROM ${input} WHERE op <> 'C' ORDER BY namespace COLLATE "C", name COLLATE "C") s CROSS JOIN LATERAL ` +
          `(${lockRow(table, 's.namespace', 's.name')}) h)`,
      );
      parts.ready.push(`SELECT 1 FROM ${held} WHERE ${ready}`);
      parts.outcome.push(
        `SELECT i, NULL::bigint AS rev, found FROM ${held} WHERE NOT ${ready} OR NOT (SELECT ok FROM checked)`,
      );
    }
    parts.outcome.push(`SELECT i, rev, found FROM ${numbered}`);
    const from = [
      ...(touchesRows
        ? [`SELECT ${names}, found, old_body, old_managed, old_fingerprint FROM ${held} WHERE ${ready}`]
        : []),
      ...(types.has('C')
        ? [
            `SELECT ${names}, NULL::bigint AS found, NULL::text AS old_body, NULL::text AS old_managed, NULL::text AS old_fingerprint FROM ${input} WHERE op = 'C'`,
          ]
        : []),
    ].join(' UNION ALL ');
    parts.numbered.push(
      `${numbered} AS MATERIALIZED (SELECT r.*, nextval('platform.revision') AS rev FROM (SELECT * FROM (${from}) u ORDER BY i) r, checked WHERE checked.ok${this.#isFenced ? ' AND (r.fence IS NULL OR r.fence NOT IN (SELECT fence FROM lost))' : ''})`,
    );
    if (table.limited) {
      const count = `CASE n.op ${Object.entries(countOf)
        .map(([type, each]) => `WHEN '${type}' THEN ${each}`)
        .join(' ')} END`;
      const size = `CASE n.op WHEN 'D' THEN 0 ELSE octet_length(n.body) END - coalesce(octet_length(n.old_body), 0)`;
      parts.quota.push(
        `SELECT n.i, ${table.id} AS model, n.namespace, ${count} AS count, ${size} AS size, n.op = 'D' OR n.op = 'U' AND n.deleted IS NOT NULL AS always FROM ${numbered} n`,
      );
    }
    const withinQuotas = (): string => 'n.i NOT IN (SELECT i FROM over_quota)';
    const rows: WritableRows = { table, value: columnOf, revision: 'n.rev', from: `${numbered} n`, withinQuotas };
    const written = `${rows.from} WHERE ${isIn('n.rev', 'written')}`;
    parts.log = (batch) => [
      selectChanges({ ...rows, from: written, type: 'n.op', batch, old: 'n', hasKeys: this.#hasKeys }),
    ];
    parts.audit.push(
      selectAuditRows({ ...rows, from: `${rows.from} WHERE n.audit_id IS NOT NULL AND ${isIn('n.rev', 'logged')}` }),
    );
    for (const type of ['C', 'U', 'D'] as const) {
      if (!types.has(type)) continue;
      const cte = `${pastTense[type]}_${g}`;
      parts.writes.push(`${cte} AS (${writeRows(type, rows, `n.op = '${type}'`)})`);
      parts.written.push(`SELECT rev FROM ${cte}`);
    }
    return parts;
  }

  /**
   * Several operations are sent as one array per column; a single one as plain values, which is cheaper to plan and to
   * send.
   */
  #input(group: Group, inputs: readonly OperationParameter[]): string {
    if (this.#operations.length === 1) {
      const [placed] = this.#operations;
      return `SELECT ${inputs.map((input) => `${this.#bind(input.value(placed!), sentType(input))} AS ${input.column}`).join(', ')}`;
    }
    const arrays = inputs.map((input) => this.#bind(arrayOf(input, group), `${sentType(input)}[]`));
    return `SELECT * FROM unnest(${arrays.join(', ')}) AS t(${inputs.map(({ column }) => column).join(', ')})`;
  }

  #inputsOf(table: Table): OperationParameter[] {
    const { position, type, namespace, name, expected, uid, created, deleted, labels, fingerprint, body, managed } =
      parameters;
    return [
      position,
      type,
      namespace,
      name,
      expected,
      uid,
      created,
      deleted,
      labels,
      fingerprint,
      body,
      ...(table.hasManaged ? [managed] : []),
      ...(this.#isFenced ? [this.#fence] : []),
      ...(this.#hasIdempotencyKeys ? idempotencyParameters : []),
      ...(this.#isAudited ? auditParameters : []),
      ...(table.computed === undefined ? [] : [parameters.oldKeys, parameters.newKeys]),
      ...columnParameters(table),
    ];
  }

  /** The operations that pass a quota: none, if all of them fit. */
  #quotaCheck(groups: readonly GroupParts[]): string[] {
    const limited = groups.flatMap(({ quota }) => quota);
    if (limited.length === 0) return [];
    const additions = additionsOf(this.#operations.map(({ operation }) => operation));
    const arrays = (
      [
        ['model', 'int[]'],
        ['namespace', 'text[]'],
        ['count', 'int[]'],
        ['size', 'bigint[]'],
      ] as const
    ).map(([column, type]) =>
      this.#bind(
        additions.map((addition) => addition[column]),
        type,
      ),
    );
    const columns = ['i', 'model', 'namespace', 'count', 'size', 'always'].map((column) => `array_agg(${column})`);
    return [
      `over_quota AS MATERIALIZED (SELECT unnest((SELECT platform.over_quota(${columns.join(', ')}) FROM (${limited.join(' UNION ALL ')}) w)) AS i
        FROM checked WHERE NOT platform.within_quota(${arrays.join(', ')}, (SELECT max(rev) FROM (${groups.flatMap(({ drawn }) => drawn).join(' UNION ALL ')}) d)))`,
    ];
  }

  get #isFenced(): boolean {
    return this.#fences.all.length > 0;
  }

  /** The position of an operation's fence. */
  get #fence(): OperationParameter {
    return { column: 'fence', type: 'int', value: ({ operation }) => this.#fences.of(operation) };
  }

  /** Reads the leases after the lock is acquired, and before this statement writes anything. */
  #fenceCheck(): string[] {
    if (!this.#isFenced) return [];
    const [namespaces, leases, transitions] = [0, 1, 2].map((column) =>
      this.#fences.all.map((fence) => fenceValues(fence)[column]!),
    );
    const arrays = `${this.#bind(namespaces, 'text[]')}, ${this.#bind(leases, 'text[]')}, ${this.#bind(transitions, 'int[]')}`;
    const fences = `unnest(${arrays}) WITH ORDINALITY AS f(namespace, lease, transitions, number)`;
    return [
      `fences AS MATERIALIZED (SELECT (number - 1)::int AS fence, platform.lease_held(namespace, lease, transitions) AS holds FROM locked, ${fences})`,
      'lost AS MATERIALIZED (SELECT fence FROM fences WHERE NOT holds)',
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
  numbered: string[];
  /** The operations of a limited table, as `over_quota` takes them. */
  quota: string[];
  writes: string[];
  written: string[];
  log(batch: string): string[];
  audit: string[];
  idempotencyKeys: string[];
  drawn: string[];
  outcome: string[];
}

/**
 * A subquery that PostgreSQL hashes once. A join would compare each row with each, because the planner expects one row
 * everywhere here.
 */
function isIn(revision: string, set: 'written' | 'logged'): string {
  return `(${revision} IN (SELECT rev FROM ${set})) IS TRUE`;
}

interface Addition {
  model: number;
  namespace: string;
  count: number;
  size: number;
}

/** What the operations may add at most, by namespace, of each limited model and of all. */
function additionsOf(operations: readonly BatchOperation[]): Addition[] {
  const additions = new Map<string, Addition>();
  for (const { table, type, namespace, body, from } of operations) {
    if (!table.limited || type === 'D') continue;
    const size = Buffer.byteLength(body) - (from === undefined ? 0 : Buffer.byteLength(from.body));
    for (const model of [table.id, allModels]) {
      const key = `${namespace}/${model}`;
      const addition = additions.get(key) ?? { model, namespace, count: 0, size: 0 };
      additions.set(key, addition);
      addition.count += countOf[type];
      addition.size += Math.max(0, size);
    }
  }
  return [...additions.values()];
}

const pastTense = { C: 'created', U: 'updated', D: 'deleted' } as const;
const idempotencyColumns = idempotencyParameters.map(({ column }) => column);

/** Sets are sent as array literals: PostgreSQL has no array of arrays of different lengths. */
function sentType({ isSet = false, type }: OperationParameter): string {
  return isSet ? 'text' : type;
}

function columnOf({ isSet = false, column, type }: OperationParameter): string {
  return isSet ? `n.${column}::${type}` : `n.${column}`;
}

function arrayOf(parameter: OperationParameter, { operations }: Group): unknown {
  const values = operations.map((placed) => parameter.value(placed));
  return sentType(parameter) === 'text' ? textArray(values as (string | null)[]) : values;
}

/** Tables in the order of their ids, so that two replicas lock in the same order. */
function groupByTable(operations: readonly PlacedOperation[]): Group[] {
  const groups = new Map<number, Group>();
  for (const placed of operations) {
    const { table } = placed.operation;
    const group = groups.get(table.id) ?? { table, operations: [] };
    group.operations.push(placed);
    groups.set(table.id, group);
  }
  return [...groups.values()].toSorted((a, b) => a.table.id - b.table.id);
}
