import type { ObjectKey } from '../meta/object.ts';
import type { IndexKey, IndexValue } from '../scheme/index-definition.ts';
import type { Sort } from './requirement.ts';

/** The sort key of an object: `keys` are those of the sort's indexes, in its order. */
export interface Sortable extends ObjectKey {
  keys: readonly IndexKey[];
}

/**
 * Orders two keys of one index as PostgreSQL does (collation C): null first, false before true,
 * strings by Unicode code point, which is the order of their UTF-8 bytes.
 */
export function compareIndexValues(a: IndexValue | null, b: IndexValue | null): number {
  if (a === b) return 0;
  if (a === null) return -1;
  if (b === null) return 1;
  if (typeof a === 'string' && typeof b === 'string') return compareCodePoints(a, b);
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * Orders objects by the sort's keys, then by namespace and name in the direction of the last key (ascending without
 * keys).
 */
export function compareBySort(sort: Sort): (a: Sortable, b: Sortable) => number {
  const signs = sort.map((key) => (key.descending ? -1 : 1));
  const lastSign = signs.at(-1) ?? 1;
  return (a, b) => {
    for (const [position, sign] of signs.entries()) {
      const order = compareIndexValues(singleKey(a.keys[position]), singleKey(b.keys[position]));
      if (order !== 0) return sign * order;
    }
    return lastSign * (compareCodePoints(a.namespace, b.namespace) || compareCodePoints(a.name, b.name));
  };
}

/** A sort never has a multi-value index: sets have no order. */
function singleKey(key: IndexKey | undefined): IndexValue | null {
  return key === undefined || Array.isArray(key) ? null : key;
}

function compareCodePoints(a: string, b: string): number {
  const end = Math.min(a.length, b.length);
  for (let position = 0; position < end; position += 1) {
    const left = a.charCodeAt(position);
    const right = b.charCodeAt(position);
    if (left !== right) return codePointRank(left) - codePointRank(right);
  }
  return a.length - b.length;
}

/**
 * Surrogates represent code points above U+FFFF, but their own numbers are below U+E000, so they are moved to the end.
 */
function codePointRank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x2800 : unit;
}
