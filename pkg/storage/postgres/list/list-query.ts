import type { QueryResultRow } from 'pg';
import type { Selector, Sort } from '#pkg/apimachinery/index';
import type { StoredObject } from '../../store.ts';
import { compileSelectorSql, orderBy, QueryParameters, sortColumns, type SortColumn } from './query-compiler.ts';
import { managedSql, sizeSql } from '../table/managed-column.ts';
import { tableName, type Table } from '../table/table.ts';

/** Maximum number of matches to gather and sort; above it an ordered scan finds a page sooner. */
export const sparseLimit = 10_000;
/**
 * Session settings for lists. Both order and matches always come from an index, so sequential scans are off. JIT is off
 * because up to PostgreSQL 17 a plan that needs a disabled scan gets so high a cost that every statement would be
 * compiled first: 200 ms for a list that takes one. `work_mem` keeps a bitmap of a million rows exact, and without
 * parallel workers no list takes every core.
 */
export const listSessionSettings = {
  enable_seqscan: 'off',
  jit: 'off',
  work_mem: '32MB',
  max_parallel_workers_per_gather: '0',
};

/** A selector, an order and a start position, compiled to parts of a statement. */
export interface CompiledList {
  table: Table;
  from: string;
  where: string;
  narrows: boolean;
  order: SortColumn[];
  parameters: QueryParameters;
}

export function compileList(
  table: Table,
  query: { namespace?: string; selector: Selector; sort: Sort },
  mode: 'ordered' | 'gathered',
): CompiledList {
  const parameters = new QueryParameters();
  const { where, narrows } = compileSelectorSql(table, query, parameters, mode);
  return { table, from: `${tableName(table)} t`, where, narrows, order: sortColumns(table, query.sort), parameters };
}

/** Does the list have selectors? */
export function hasSelector({ selector }: { selector: Selector }): boolean {
  return selector.labels.length > 0 || selector.fields.length > 0;
}

/** Select list of an object's columns. */
export function objectColumns(table: Table): string {
  return `t.namespace, t.name, t.rev, t.fingerprint, t.body, ${managedSql(table, 't')} AS managed`;
}

export interface ObjectRow extends QueryResultRow {
  namespace: string;
  name: string;
  rev: string | null;
  fingerprint: string;
  body: string;
  /** Null if the body has the managed fields. */
  managed: string | null;
}

/** An object's row without its body if that is large. */
export interface BriefRow extends QueryResultRow {
  namespace: string;
  name: string;
  rev: string | null;
  fingerprint: string;
  body: string | null;
  managed: string | null;
}

export function hasRowBody<Row extends BriefRow>(row: Row): row is Row & { body: string } {
  return row.body !== null;
}

export function storedObject(
  row: Pick<ObjectRow, 'namespace' | 'name' | 'rev' | 'fingerprint' | 'body' | 'managed'>,
): StoredObject {
  return {
    namespace: row.namespace,
    name: row.name,
    revision: Number(row.rev),
    fingerprint: row.fingerprint,
    body: row.body,
    managed: row.managed ?? undefined,
  };
}

/** Limit on bodies and managed fields read at once. */
export interface PageBound {
  bytes: number;
  /** Also read the object that exceeds the limit: at least one object, of any size. */
  oneMore: boolean;
}

/**
 * The objects of a relation `keys` with their positions: the first ones, up to about `bytes` of bodies and managed
 * fields. `more`: further columns of `t`, each preceded by a comma.
 */
export function boundedObjects(
  list: CompiledList,
  { bytes, oneMore }: PageBound,
  condition: string,
  more = '',
): string {
  const size = sizeSql(list.table, 't');
  return (
    `SELECT * FROM (SELECT keys.position, ${objectColumns(list.table)}${more}, sum(${size}) OVER (ORDER BY keys.position)${oneMore ? ` - ${size}` : ''} AS upto ` +
    `FROM keys JOIN ${list.from} USING (namespace, name) WHERE ${condition}) sized WHERE upto < ${bytes}`
  );
}

/** Aliases for the columns of the order, for statements that gather keys first. */
export function orderAliases(list: CompiledList): { select: string; order: string } {
  const aliased = list.order.map((column, i) => ({ ...column, sql: `o_${i}` }));
  return { select: list.order.map(({ sql }, i) => `${sql} AS o_${i}`).join(', '), order: orderBy(aliased) };
}

/**
 * A relation `keys` of the first matches. OFFSET 0 keeps the planner from scanning the order's index: all matches are
 * found by the selectors' indexes.
 */
export function topmostKeys(
  list: CompiledList,
  { skip, take, where = list.where }: { skip: number; take: number; where?: string },
): string {
  const { select, order } = orderAliases(list);
  const top = `SELECT * FROM (SELECT t.namespace, t.name, ${select} FROM ${list.from} WHERE ${where} OFFSET 0) matches ORDER BY ${order} LIMIT ${skip + take}`;
  return `keys AS MATERIALIZED (SELECT namespace, name, row_number() OVER (ORDER BY ${order}) AS position FROM (${top}) top ORDER BY position LIMIT ${take} OFFSET ${skip})`;
}
