import {
  compareBySort,
  compileSelector,
  EventLoopTurns,
  extractIndexKey,
  isComputedIndex,
  type ApiObject,
  type ComputedKeys,
  type IndexDefinition,
  type IndexValue,
  type ObjectKey,
  type Sort,
  type Sortable,
} from '#pkg/apimachinery/index';
import type { ChunkPosition, ChunkQuery, StoredObject } from '../../store.ts';
import { hasSelector, storedObject, type CompiledList, type ObjectRow } from './list-query.ts';

type SortValue = IndexValue | null;

/** A position in the order of a list. */
export type SortPosition = Sortable & { keys: SortValue[] };

/** An object with its position in the order. */
export interface PositionedObject extends SortPosition {
  object: StoredObject;
}

/** An object's row; its sort keys are the columns `k_0`, `k_1` and so on. */
export interface PositionedRow extends ObjectRow, Record<`k_${number}`, unknown> {}

/** A row of the log: an object before its first change after a snapshot. */
export interface ChangedRow {
  namespace: string;
  name: string;
  prev: string | null;
  old: string;
  old_managed: string | null;
  old_fingerprint: string;
  /** Only if the list reads computed keys. */
  old_keys?: string | null;
}

/** Does the list read computed keys? */
export function readsComputed({ selector, sort }: Pick<ChunkQuery, 'selector' | 'sort'>): boolean {
  return (
    selector.fields.some(({ index }) => isComputedIndex(index)) || sort.some(({ index }) => isComputedIndex(index))
  );
}

/**
 * Selects a row's sort keys from its columns: a sorted list reads no bodies for them. A date is milliseconds, as in
 * memory.
 */
export function keyColumns(list: CompiledList, sort: Sort): string {
  const columns = sort.map(({ index }, i) => {
    const { sql } = list.order[i]!;
    return `, ${index.type === 'date' ? `(extract(epoch FROM ${sql}) * 1000)::bigint` : sql} AS k_${i}`;
  });
  return columns.join('');
}

export function positionedRow(row: PositionedRow, sort: Sort): PositionedObject {
  const { namespace, name } = row;
  return {
    namespace,
    name,
    object: storedObject(row),
    keys: sort.map(({ index }, i) => ownKey(index, row) ?? keyFromRow(index, row[`k_${i}`])),
  };
}

/** `pg` returns a bigint as a string. */
function keyFromRow({ type }: IndexDefinition, value: unknown): SortValue {
  if (value === null || value === undefined) return null;
  return type === 'integer' || type === 'date' ? Number(value) : (value as IndexValue);
}

/**
 * Name and namespace come from the position itself: a cluster-scoped object has no namespace in its body, and '' in its
 * row.
 */
function ownKey({ name }: IndexDefinition, position: ObjectKey): string | undefined {
  if (name === 'metadata.name') return position.name;
  return name === 'metadata.namespace' ? position.namespace : undefined;
}

/**
 * The earlier versions of changed objects that belong to the chunk. Parsing large bodies takes long, so it yields to
 * the event loop between them. @throws KeyNotComputed
 */
export async function oldVersionsInChunk(
  rows: readonly ChangedRow[],
  { selector, sort, after }: ChunkQuery,
  upTo: SortPosition | undefined,
): Promise<PositionedObject[]> {
  const matches = compileSelector(selector);
  const compare = compareBySort(sort);
  const position = after === undefined ? undefined : { ...after, keys: positionKeys(sort, after) };
  const isRead = hasSelector({ selector }) || sort.some(({ index }) => ownKey(index, rows[0]!) === undefined);
  const turns = new EventLoopTurns();
  const positioned: PositionedObject[] = [];
  for (const row of rows) {
    if (row.prev === null) continue;
    if (turns.due) await turns.next();
    const body = isRead ? (JSON.parse(row.old) as ApiObject) : undefined;
    const computed = row.old_keys == null ? undefined : (JSON.parse(row.old_keys) as ComputedKeys);
    if (body !== undefined && !matches(body, computed)) continue;
    const { namespace, name } = row;
    const keys = sort.map(
      ({ index }) =>
        ownKey(index, row) ?? (body === undefined ? null : (extractIndexKey(index, body, computed) as SortValue)),
    );
    const item = { namespace, name, keys, object: storedOld(row) };
    if ((position === undefined || compare(item, position) > 0) && (upTo === undefined || compare(item, upTo) <= 0))
      positioned.push(item);
  }
  return positioned;
}

function storedOld({ namespace, name, prev, old, old_managed, old_fingerprint }: ChangedRow): StoredObject {
  const managed = old_managed ?? '';
  return { namespace, name, revision: Number(prev), fingerprint: old_fingerprint, body: old, managed };
}

/** The sort keys of a position; name and namespace are never taken from its keys. */
export function positionKeys(sort: Sort, after: ChunkPosition): SortValue[] {
  return sort.map(({ index }, i) => ownKey(index, after) ?? after.keys[i] ?? null);
}
