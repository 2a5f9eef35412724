import type { JsonValue } from '../meta/object.ts';

/** The identity of a value in a list: equal values have the same. */
export const elementKey = (value: JsonValue): string => JSON.stringify(value);

type KeyOf = (item: JsonValue) => string;

interface OrderOptions {
  /** The wanted order. An element that is not in the list counts for nothing. */
  order: readonly JsonValue[];
  /** The list before the patch: elements that `order` does not name keep their places in it. */
  before: readonly JsonValue[];
  keyOf: KeyOf;
}

/** The list in the wanted order. Source: strategicpatch, normalizeElementOrder. */
export function inOrder(list: readonly JsonValue[], { order, before, keyOf }: OrderOptions): JsonValue[] {
  const ranks = ranksOf(order, keyOf);
  const rankOf = (item: JsonValue): number => ranks.get(keyOf(item)) ?? -1;
  const named = list.filter((item) => rankOf(item) >= 0).toSorted((a, b) => rankOf(a) - rankOf(b));
  const others = list.filter((item) => rankOf(item) < 0);
  return interleave(others, named, before, keyOf);
}

/**
 * Puts each of `others` before the first element of `named` that comes later in `before`; both keep their order.
 * Source: strategicpatch, mergeSortedSlice.
 */
export function interleave(
  others: readonly JsonValue[],
  named: readonly JsonValue[],
  before: readonly JsonValue[],
  keyOf: KeyOf,
): JsonValue[] {
  const ranks = ranksOf(before, keyOf);
  const result: JsonValue[] = [];
  let next = 0;
  for (const item of named) {
    // An element that was not there before comes before all that are left.
    const rank = ranks.get(keyOf(item)) ?? -1;
    const isEarlier = (other: JsonValue): boolean => (ranks.get(keyOf(other)) ?? Number.MAX_SAFE_INTEGER) < rank;
    for (; next < others.length && isEarlier(others[next]!); next += 1) result.push(others[next]!);
    result.push(item);
  }
  return [...result, ...others.slice(next)];
}

function ranksOf(list: readonly JsonValue[], keyOf: KeyOf): Map<string, number> {
  const ranks = new Map<string, number>();
  for (const [rank, item] of list.entries()) if (!ranks.has(keyOf(item))) ranks.set(keyOf(item), rank);
  return ranks;
}
