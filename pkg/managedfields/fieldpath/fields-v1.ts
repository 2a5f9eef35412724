import { compareIndexValues, isJsonObject, type JsonValue, type SlicedWork } from '#pkg/apimachinery/index';
import { copySet, type FieldSet, leaf, selfKey, uniteValues } from './field-set.ts';
import { isNormalElement, normalizeElement } from './path-element.ts';
import { isEmpty, isEmptyMap } from './is-empty.ts';
import { isSliceEnd } from './slice-end.ts';

/** Deeper than any object: nobody stores more than 100 levels. */
const maxDepth = 256;

/**
 * Reads `fieldsV1` that somebody else wrote: elements get their one form, kinds that are not known are dropped. Returns
 * the argument itself if it is well-formed and sorted.
 * @throws SyntaxError if it cannot be read.
 */
export function* readingFieldsV1(fields: JsonValue | undefined): SlicedWork<FieldSet> {
  if (fields === undefined || fields === null) return {};
  const set = isWritten(fields, 0) ? (fields as unknown as FieldSet) : yield* readingLevel(fields, 0);
  if (!(selfKey in set)) return set;
  const { [selfKey]: _, ...rest } = set;
  return rest;
}

/** Whether a set is in the form in which sets are written, as nearly all are. */
function isWritten(fields: JsonValue, depth: number): boolean {
  if (!isJsonObject(fields) || depth > maxDepth) return false;
  let previous = '';
  for (const key in fields) {
    const value = fields[key]!;
    if (!isBefore(previous, key) || (key !== selfKey && !isNormalElement(key))) return false;
    if (!isEmptyMap(value) && (key === selfKey || !isWritten(value, depth + 1))) return false;
    previous = key;
  }
  return previous !== selfKey;
}

function* readingLevel(fields: JsonValue, depth: number): SlicedWork<FieldSet> {
  if (fields === null) return leaf;
  if (!isJsonObject(fields)) throw new SyntaxError('a set of fields must be an object');
  if (depth > maxDepth) throw new SyntaxError(`a set of fields has more than ${maxDepth} levels`);
  const result: FieldSet = {};
  let isLeaf = true;
  for (const key in fields) {
    if (isSliceEnd()) yield;
    if (key === selfKey) {
      result[selfKey] = leaf;
      continue;
    }
    isLeaf = false;
    const element = normalizeElement(key);
    if (element === undefined) continue;
    const set = yield* readingLevel(fields[key]!, depth + 1);
    // Two keys may be one element: `v:1` and `v:1.0`.
    result[element] = Object.hasOwn(result, element) ? uniteValues(result[element]!, set) : set;
  }
  yield;
  return isLeaf ? leaf : sortLevel(result);
}

/** Sorts a set as it is written: by the bytes of the keys. Returns the argument itself if it is sorted. */
export function sortFieldSet(set: FieldSet): FieldSet {
  let result: FieldSet | undefined;
  let previous = '';
  let isSorted = true;
  for (const element in set) {
    isSorted = isSorted && isBefore(previous, element);
    previous = element;
    const below = set[element]!;
    const sortedBelow = below === leaf || isEmpty(below) ? below : sortFieldSet(below);
    if (sortedBelow === below) continue;
    result ??= copySet(set);
    result[element] = sortedBelow;
  }
  return isSorted ? (result ?? set) : sorted(result ?? set);
}

function sortLevel(set: FieldSet): FieldSet {
  let previous = '';
  for (const element in set) {
    if (!isBefore(previous, element)) return sorted(set);
    previous = element;
  }
  return set;
}

const surrogate = /[\ud800-\udfff]/;

/** By their bytes, whose order differs from that of code units where one has a character of two units. */
function isBefore(a: string, b: string): boolean {
  const isByUnits = a < b;
  return surrogate.test(isByUnits ? a : b) ? compareIndexValues(a, b) < 0 : isByUnits;
}

function sorted(set: FieldSet): FieldSet {
  const elements = Object.keys(set).toSorted();
  // Of these the order of code units is not the order of bytes.
  if (elements.some((element) => surrogate.test(element))) elements.sort(compareIndexValues);
  const result: FieldSet = {};
  for (const element of elements) result[element] = set[element]!;
  return result;
}
