import {
  ownerUidIndex,
  type FieldRequirement,
  type IndexDefinition,
  type IndexValue,
  type LabelRequirement,
  type Selector,
  type Sort,
} from '#pkg/apimachinery/index';
import { StorageError } from '../../storage-error.ts';
import { anyOwner, ownerElement } from '../table/owner-elements.ts';
import { toSqlValue, arrayLiteral } from '../table/sql-value.ts';
import { columnOf, sqlType, type Table } from '../table/table.ts';

/** Collects the values of a statement while its text is built. */
export class QueryParameters {
  readonly values: unknown[] = [];

  bind(value: unknown, type: string): string {
    this.values.push(value);
    return `$${this.values.length}::${type}`;
  }
}

/** A selector as SQL over the columns of a model's table, called `t`. */
export interface CompiledSelector {
  /** Conditions joined by AND; 'true' if everything is selected. */
  where: string;
  /** Does it have a clause that an index narrows, not only clauses that exclude? The namespace does not count. */
  narrows: boolean;
}

/**
 * `gathered`: the selectors' own indexes must find the matches. The label index then also checks the namespace, and a
 * constant namespace is left out: otherwise the planner might scan the primary key and filter.
 */
export function compileSelectorSql(
  table: Table,
  query: { namespace?: string; selector: Selector },
  parameters: QueryParameters,
  mode: 'ordered' | 'gathered',
): CompiledSelector {
  const { selector } = query;
  const namespace = query.namespace === '' ? undefined : query.namespace;
  const owners = selector.fields.filter(isOfOwners);
  if (owners.length > 0 && !table.ownersIndexed)
    throw new StorageError('IndexNotReady', `the index ${ownerUidIndex.name} is still being built`, {
      index: ownerUidIndex.name,
    });
  const fields = selector.fields.filter((requirement) => !isOfOwners(requirement));
  const labels = compileElements(
    [...selector.labels.map(labelClause), ...owners.map(ownerClause)],
    mode === 'gathered' && table.namespaced ? namespace : undefined,
    parameters,
  );
  const conditions = [...labels.conditions];
  const needsNamespace =
    mode === 'ordered'
      ? namespace !== undefined || !table.namespaced
      : namespace !== undefined && table.namespaced && !labels.narrows;
  if (needsNamespace) conditions.push(`t.namespace = ${parameters.bind(namespace ?? '', 'text')}`);
  for (const requirement of fields) conditions.push(compileField(table, requirement, parameters));
  return {
    where: conditions.length === 0 ? 'true' : conditions.join(' AND '),
    narrows:
      labels.narrows ||
      fields.some(({ operator }) => operator !== 'NotIn' && operator !== 'DoesNotExist' && operator !== 'Exists'),
  };
}

/** Requires any of some elements in the index on labels, or none of them. */
interface ElementClause {
  any: string[];
  isWanted: boolean;
}

function labelClause(requirement: LabelRequirement): ElementClause {
  const { key } = requirement;
  const any = 'values' in requirement ? requirement.values.map((value) => `${key}=${value}`) : [key];
  return { any, isWanted: requirement.operator === 'In' || requirement.operator === 'Exists' };
}

function isOfOwners({ index }: FieldRequirement): boolean {
  return index.name === ownerUidIndex.name;
}

function ownerClause(requirement: FieldRequirement): ElementClause {
  const any = 'values' in requirement ? requirement.values.map((value) => ownerElement(String(value))) : [anyOwner];
  return { any, isWanted: requirement.operator === 'In' || requirement.operator === 'Exists' };
}

/** One containment for all required elements, so that one index lookup finds the matches. */
function compileElements(
  clauses: readonly ElementClause[],
  namespace: string | undefined,
  parameters: QueryParameters,
): { conditions: string[]; narrows: boolean } {
  const wanted: string[] = [];
  const conditions: string[] = [];
  const contains = (elements: readonly string[]): string =>
    `t.labels ${elements.length === 1 ? '@>' : '&&'} ${parameters.bind(arrayLiteral(elements), 'text[]')}`;
  let narrows = false;
  for (const { any, isWanted } of clauses) {
    if (!isWanted) conditions.push(`NOT ${contains(any)}`);
    else if (any.length === 1) wanted.push(...any);
    else {
      conditions.push(contains(any));
      narrows = true;
    }
  }
  narrows ||= wanted.length > 0;
  if (narrows && namespace !== undefined) wanted.push(`/${namespace}`);
  if (wanted.length > 0) conditions.push(`t.labels @> ${parameters.bind(arrayLiteral(wanted), 'text[]')}`);
  return { conditions, narrows };
}

const comparisons = { GreaterThan: '>', GreaterOrEqual: '>=', LessThan: '<', LessOrEqual: '<=' } as const;

function compileField(table: Table, requirement: FieldRequirement, parameters: QueryParameters): string {
  const { index } = requirement;
  // A cluster-scoped object's namespace is stored as '' and means no namespace.
  const column = index.name === 'metadata.namespace' && !table.namespaced ? 'NULL::text' : columnSql(table, index);
  const type = sqlType(index);
  const absent = `${column} IS NULL`;
  switch (requirement.operator) {
    case 'In':
    case 'NotIn':
      return compileSet(column, absent, requirement, parameters);
    case 'Exists':
      return index.multi ? `cardinality(${column}) > 0` : `NOT ${absent}`;
    case 'DoesNotExist':
      return index.multi ? `cardinality(${column}) = 0` : absent;
    case 'Prefix':
      return compilePrefix(column, requirement.value, parameters);
    default:
      return `${column} ${comparisons[requirement.operator]} ${parameters.bind(sqlValue(index, requirement.value), type)}`;
  }
}

function compileSet(
  column: string,
  absent: string,
  { index, operator, values }: Extract<FieldRequirement, { operator: 'In' | 'NotIn' }>,
  parameters: QueryParameters,
): string {
  const type = sqlType(index);
  const bound = values.map((value) => sqlValue(index, value));
  if (index.multi) {
    const set = parameters.bind(arrayLiteral(bound.map(String)), `${type}[]`);
    return operator === 'In' ? `${column} && ${set}` : `NOT ${column} && ${set}`;
  }
  if (operator === 'In') {
    return bound.length === 1
      ? `${column} = ${parameters.bind(bound[0], type)}`
      : `${column} = ANY (${parameters.bind(bound, `${type}[]`)})`;
  }
  return `(${absent} OR ${column} <> ALL (${parameters.bind(bound, `${type}[]`)}))`;
}

/** A range in collation C, which every btree supports; `starts_with` makes it exact. */
function compilePrefix(column: string, prefix: string, parameters: QueryParameters): string {
  if (prefix === '') return `${column} IS NOT NULL`;
  const from = `${column} >= ${parameters.bind(prefix, 'text')}`;
  const end = endOfPrefix(prefix);
  const to = end === undefined ? '' : ` AND ${column} < ${parameters.bind(end, 'text')}`;
  return `${from}${to} AND starts_with(${column}, ${parameters.bind(prefix, 'text')})`;
}

/** The smallest string above all strings that begin with `prefix`, by code points. */
function endOfPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0)!);
  while (points.length > 0) {
    const last = points.pop()!;
    if (last < 0x10ffff) return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1);
  }
  return undefined;
}

/** The column behind an index; IndexNotReady while it is being built. */
export function columnSql(table: Table, index: IndexDefinition): string {
  const column = columnOf(table, index);
  if (column === undefined || column.state === 'building') {
    throw new StorageError('IndexNotReady', `the index ${index.name} is still being built`, { index: index.name });
  }
  if (column.state === 'failed') {
    throw new StorageError(
      'IndexNotReady',
      `the index ${index.name} could not be built: ${column.message ?? 'unknown reason'}`,
      { index: index.name },
    );
  }
  return `t.${column.name}`;
}

export function sqlValue(index: IndexDefinition, value: IndexValue): string | number | boolean | null {
  return toSqlValue(value, index.type === 'date');
}

/** A column of a list's order, tie breakers included. ORDER BY, keyset and comparison all use these columns. */
export interface SortColumn {
  sql: string;
  type: string;
  nullable: boolean;
  /**
   * How the column's index orders nulls, even if there are none: the planner uses the index for the order only if this
   * matches.
   */
  nullsFirst: boolean;
  descending: boolean;
}

export function sortColumns(table: Table, sort: Sort): SortColumn[] {
  const declared = sort.map(({ index, descending }) => ({
    sql: columnSql(table, index),
    type: sqlType(index),
    nullable:
      index.name !== 'metadata.name' &&
      index.name !== 'metadata.namespace' &&
      index.name !== 'metadata.creationTimestamp',
    nullsFirst: index.name !== 'metadata.name' && index.name !== 'metadata.namespace',
    descending,
  }));
  const descending = sort.at(-1)?.descending ?? false;
  const named = (column: string): boolean => declared.some(({ sql }) => sql === column);
  // In a table without namespaces that column is constant and would keep the planner from using the index.
  const ties = [...(table.namespaced ? ['t.namespace'] : []), 't.name'].filter((column) => !named(column));
  return [...declared, ...ties.map((sql) => ({ sql, type: 'text', nullable: false, nullsFirst: false, descending }))];
}

export function orderBy(columns: readonly SortColumn[]): string {
  return columns
    .map(
      ({ sql, descending, nullsFirst }) =>
        `${sql}${descending ? ' DESC' : ''}${nullsFirst ? (descending ? ' NULLS LAST' : ' NULLS FIRST') : ''}`,
    )
    .join(', ');
}

/**
 * Conditions for the objects after a position, in the order of the list. Each condition is one range of the order's
 * index; an OR of them would not be a range. Null is the smallest value. `values` are those of the position, one per
 * column.
 */
export function keysetBranches(
  columns: readonly SortColumn[],
  values: readonly unknown[],
  parameters: QueryParameters,
): string[] {
  const [column, ...others] = columns;
  if (column === undefined) return [];
  const row = rowCondition(columns, values, parameters);
  if (row !== undefined) return [row];
  const value = values[0] ?? null;
  const rest = keysetBranches(others, values.slice(1), parameters);
  // Bound only where it is used: PostgreSQL rejects an unused parameter.
  const equal =
    rest.length === 0 || value === null
      ? `${column.sql} IS NULL`
      : `${column.sql} = ${parameters.bind(value, column.type)}`;
  return [...rest.map((branch) => `${equal} AND ${branch}`), ...beyond(column, value, parameters)];
}

/**
 * All objects after a position as one row comparison: an index scan starts exactly at the position, however many
 * objects share its first value. Possible only if all columns have one direction and no null follows the position: in
 * ascending order nulls come before it, and compare as unknown.
 */
function rowCondition(
  columns: readonly SortColumn[],
  values: readonly unknown[],
  parameters: QueryParameters,
): string | undefined {
  const descending = columns[0]?.descending ?? false;
  const fits = columns.every(
    (column, i) => column.descending === descending && (values[i] ?? null) !== null && !(descending && column.nullable),
  );
  if (!fits) return undefined;
  const position = columns.map(({ type }, i) => parameters.bind(values[i], type));
  return `(${columns.map(({ sql }) => sql).join(', ')}) ${descending ? '<' : '>'} (${position.join(', ')})`;
}

function beyond(
  { sql, type, nullable, descending }: SortColumn,
  value: unknown,
  parameters: QueryParameters,
): string[] {
  if (value === null) return descending ? [] : [`${sql} IS NOT NULL`];
  if (!descending) return [`${sql} > ${parameters.bind(value, type)}`];
  return [`${sql} < ${parameters.bind(value, type)}`, ...(nullable ? [`${sql} IS NULL`] : [])];
}
