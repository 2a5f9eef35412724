import type { IndexKey } from '#pkg/apimachinery/index';
import type { Operation } from './operation.ts';
import { sqlType, tableName, type Column, type Table } from './table.ts';

/** Held from the first revision of a write to the end of its transaction: revision order is commit order. */
export const revisionLock = 815;
/** Tells readers that the log grew; the payload is the process that wrote. */
export const changesChannel = 'svc_changes';

export interface BatchStatement {
  text: string;
  values: unknown[];
}

/** A row for each operation, in their order. */
export interface BatchRow {
  i: number;
  /** The change's revision; null if nothing was written for this operation. */
  rev: string | null;
  /** Revision of the row that was found and locked; null if there was none. */
  found: string | null;
  /** False if a model has another shape by now: nothing was written. Null if no operation got as far as the lock. */
  shapes_match: boolean | null;
  /** The revisions this batch drew, used or not. */
  first: string | null;
  last: string | null;
}

/**
 * All operations as one autocommit statement: lock the rows in key order, check their revisions, take the revision
 * lock, check the shapes, number, write, log, notify. `operations` touch no key or unique value twice; at most one
 * has a claim. Source of the order and its proof: docs/concepts.md, "One order for all changes".
 */
export function batchStatement(operations: readonly Operation[], batch: string, origin: string): BatchStatement {
  const builder = new StatementBuilder(operations, batch, origin);
  return builder.build();
}

interface Parameter {
  column: string;
  type: string;
  value(operation: Operation, position: number): unknown;
}

interface Group {
  table: Table;
  operations: { operation: Operation; position: number }[];
}

class StatementBuilder {
  readonly #operations: readonly Operation[];
  readonly #groups: Group[];
  readonly #batch: string;
  readonly #origin: string;
  readonly #values: unknown[] = [];

  constructor(operations: readonly Operation[], batch: string, origin: string) {
    this.#operations = operations;
    this.#groups = groupByTable(operations);
    this.#batch = batch;
    this.#origin = origin;
  }

  build(): BatchStatement {
    const groups = this.#groups.map((group, g) => this.#groupParts(group, g));
    const union = (part: (group: GroupParts) => string[]): string => groups.flatMap(part).join(' UNION ALL ');
    const models = this.#bind(this.#groups.map(({ table }) => table.id), 'int[]');
    const shapes = this.#bind(this.#groups.map(({ table }) => table.shape), 'int[]');
    const parts = [
      ...groups.flatMap((group) => group.before),
      `ready AS MATERIALIZED (${union((group) => group.ready)})`,
      `locked AS MATERIALIZED (SELECT pg_advisory_xact_lock(${revisionLock}) FROM (SELECT count(*) AS n FROM ready) r WHERE r.n > 0)`,
      `checked AS MATERIALIZED (SELECT platform.shapes_match(${models}, ${shapes}) AS ok FROM locked)`,
      `numbered AS MATERIALIZED (SELECT r.i, nextval('platform.revision') AS rev FROM (SELECT i FROM ready ORDER BY i) r, checked WHERE checked.ok)`,
      ...groups.flatMap((group) => group.writes),
      `written AS MATERIALIZED (${union((group) => group.written)})`,
      `logged AS (INSERT INTO platform.change_log (rev, size, model, type, namespace, name, prev, old, old_fingerprint, new, new_fingerprint, batch) ` +
        `${union((group) => group.log(this.#bind(this.#batch, 'uuid')))} RETURNING rev)`,
      ...this.#claimParts(),
      `notified AS MATERIALIZED (SELECT pg_notify('${changesChannel}', ${this.#bind(this.#origin, 'text')}) FROM locked WHERE EXISTS (SELECT FROM logged))`,
    ];
    const text =
      `WITH ${parts.join(',\n')}\n` +
      `SELECT a.i, logged.rev, a.found, (SELECT ok FROM checked) AS shapes_match, (SELECT min(rev) FROM numbered) AS first, ` +
      `(SELECT max(rev) FROM numbered) AS last, (SELECT count(*) FROM notified) AS notified ` +
      `FROM (${union((group) => group.outcome)}) a LEFT JOIN numbered USING (i) LEFT JOIN logged ON logged.rev = numbered.rev ORDER BY a.i`;
    return { text, values: this.#values };
  }

  #groupParts(group: Group, g: number): GroupParts {
    const { table } = group;
    const kinds = new Set(group.operations.map(({ operation }) => operation.type));
    const touchesRows = kinds.has('U') || kinds.has('D');
    const source = `input_${g}`;
    const m = tableName(table);
    const key = `m.namespace = ${source}.namespace AND m.name = ${source}.name`;
    const assigned = table.columns.map((column) => `, ${column.name} = ${columnValue(source, column)}`).join('');
    const columns = table.columns.map((column) => `, ${column.name}`).join('');
    const columnValues = table.columns.map((column) => `, ${columnValue(source, column)}`).join('');
    const numbered = `FROM ${source} JOIN numbered USING (i)`;
    const guardCreate = table.namespaced ? ` AND platform.namespace_exists(${source}.namespace, numbered.rev)` : '';
    const guardDelete = isNamespaces(table) ? ` AND NOT platform.namespace_in_use(${source}.name, numbered.rev)` : '';
    const parts: GroupParts = {
      before: [`${source} AS MATERIALIZED (${this.#input(group)})`],
      ready: [],
      writes: [],
      written: [],
      log: (batch) => [
        `SELECT numbered.rev, octet_length(${source}.body)${touchesRows ? ` + coalesce(octet_length(found_${g}.body), 0)` : ''}, ${table.id}, ${source}.op, ${source}.namespace, ${source}.name, ` +
          `${touchesRows ? `found_${g}.rev, found_${g}.body, found_${g}.fingerprint` : 'NULL::bigint, NULL, NULL'}, ${source}.body, ${source}.fingerprint, ${batch} ` +
          `${numbered} JOIN written ON written.rev = numbered.rev${touchesRows ? ` LEFT JOIN found_${g} USING (i)` : ''}`,
      ],
      outcome: [
        touchesRows
          ? `SELECT ${source}.i, found_${g}.rev AS found FROM ${source} LEFT JOIN found_${g} USING (i)`
          : `SELECT ${source}.i, NULL::bigint AS found FROM ${source}`,
      ],
    };
    if (touchesRows) {
      parts.before.push(
        `found_${g} AS MATERIALIZED (SELECT ${source}.i, m.rev, m.body, m.fingerprint FROM ${source} JOIN ${m} m ON ${key} WHERE ${source}.op <> 'C' ORDER BY m.namespace, m.name FOR UPDATE OF m)`,
      );
      parts.ready.push(`SELECT i FROM ${source} JOIN found_${g} USING (i) WHERE ${source}.expected = found_${g}.rev`);
    }
    if (kinds.has('C')) {
      parts.ready.push(`SELECT i FROM ${source} WHERE op = 'C'`);
      parts.writes.push(
        `created_${g} AS (INSERT INTO ${m} (namespace, name, rev, uid, created, deleted, labels, fingerprint, body${columns}) ` +
          `SELECT ${source}.namespace, ${source}.name, numbered.rev, ${source}.uid, ${source}.created, ${source}.deleted, ${source}.labels::text[], ${source}.fingerprint, ${source}.body${columnValues} ` +
          `${numbered} WHERE ${source}.op = 'C'${guardCreate} ON CONFLICT DO NOTHING RETURNING rev)`,
      );
      parts.written.push(`SELECT rev FROM created_${g}`);
    }
    if (kinds.has('U')) {
      parts.writes.push(
        `updated_${g} AS (UPDATE ${m} m SET rev = numbered.rev, deleted = ${source}.deleted, labels = ${source}.labels::text[], fingerprint = ${source}.fingerprint, body = ${source}.body${assigned} ` +
          `${numbered} WHERE ${key} AND ${source}.op = 'U' RETURNING m.rev)`,
      );
      parts.written.push(`SELECT rev FROM updated_${g}`);
    }
    if (kinds.has('D')) {
      parts.writes.push(`deleted_${g} AS (DELETE FROM ${m} m USING ${source} JOIN numbered USING (i) WHERE ${key} AND ${source}.op = 'D'${guardDelete} RETURNING numbered.rev)`);
      parts.written.push(`SELECT rev FROM deleted_${g}`);
    }
    return parts;
  }

  /** One array a column for several operations; a single one comes as plain values, which is cheaper to plan and to send. */
  #input(group: Group): string {
    const parameters = [...fixedParameters, ...group.table.columns.map(columnParameter)];
    if (this.#operations.length === 1) {
      const { operation, position } = group.operations[0]!;
      return `SELECT ${parameters.map((p) => `${this.#bind(p.value(operation, position), p.type)} AS ${p.column}`).join(', ')}`;
    }
    const arrays = parameters.map((p) => this.#bind(group.operations.map(({ operation, position }) => p.value(operation, position)), `${p.type}[]`));
    return `SELECT * FROM unnest(${arrays.join(', ')}) AS t(${parameters.map((p) => p.column).join(', ')})`;
  }

  #claimParts(): string[] {
    const position = this.#operations.findIndex((operation) => operation.claim !== undefined);
    const claim = this.#operations[position]?.claim;
    if (claim === undefined) return [];
    const values = [claim.user, claim.method, claim.path, claim.key, claim.bodyHash].map((value) => this.#bind(value, 'text'));
    return [
      `claimed AS (INSERT INTO platform.idempotency_keys (username, method, path, key, body_hash, rev) ` +
        `SELECT ${values.join(', ')}, logged.rev FROM numbered JOIN logged USING (rev) WHERE numbered.i = ${this.#bind(position, 'int')})`,
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
  outcome: string[];
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

/** Sets travel as array literals: an array of arrays of different lengths is nothing PostgreSQL knows. */
function columnParameter(column: Column, position: number): Parameter {
  const { index } = column;
  if (index.multi) return { column: column.name, type: 'text', value: (operation) => arrayLiteral(toSqlArray(operation.keys[position], index.type === 'date')) };
  return { column: column.name, type: sqlType(index), value: (operation) => toSqlValue(operation.keys[position] ?? null, index.type === 'date') };
}

function columnValue(source: string, column: Column): string {
  return column.index.multi ? `${source}.${column.name}::${sqlType(column.index)}[]` : `${source}.${column.name}`;
}

/** A date travels as ISO 8601; everything else as it is. */
export function toSqlValue(key: IndexKey | undefined, isDate: boolean): string | number | boolean | null {
  if (key === null || key === undefined || Array.isArray(key)) return null;
  return isDate ? new Date(key as number).toISOString() : key;
}

function toSqlArray(key: IndexKey | undefined, isDate: boolean): string[] {
  return Array.isArray(key) ? key.map((value) => String(toSqlValue(value, isDate))) : [];
}

export function arrayLiteral(elements: readonly string[]): string {
  return `{${elements.map((element) => `"${element.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`).join(',')}}`;
}

export function isNamespaces({ resource }: Table): boolean {
  return resource.group === '' && resource.resource === 'namespaces';
}

/** Tables in the order of their ids, so that two replicas lock in the same order. */
function groupByTable(operations: readonly Operation[]): Group[] {
  const groups = new Map<number, Group>();
  for (const [position, operation] of operations.entries()) {
    const { table } = operation;
    const group = groups.get(table.id) ?? { table, operations: [] };
    group.operations.push({ operation, position });
    groups.set(table.id, group);
  }
  return [...groups.values()].toSorted((a, b) => a.table.id - b.table.id);
}
