import { compareIndexValues, isJsonObject, type JsonObject, type JsonValue } from '#pkg/apimachinery/index';
import { copySet, type FieldSet, leaf, selfKey, uniteValues } from './field-set.ts';
import { normalizeElement } from './path-element.ts';
import { isEmpty, isEmptyMap } from './is-empty.ts';

/** Deeper than any object: nobody stores more than 100 levels. */
const maxDepth = 256;

/**
 * Reads `fieldsV1` that somebody else wrote: elements get their one form, kinds that are not known are dropped. Returns
 * the argument itself if it is well-formed and sorted.
 * @throws SyntaxError if it cannot be read.
 */
export function readFieldsV1(fields: JsonValue | undefined): FieldSet {
  if (fields === undefined || fields === null) return {};
  const set = readLevel(fields, 0);
  if (!(selfKey in set)) return set;
  const { [selfKey]: _, ...rest } = set;
  return rest;
}

function readLevel(fields: JsonValue, depth: number): FieldSet {
  if (fields === null) return leaf;
  if (!isJsonObject(fields)) throw new SyntaxError('a set of fields must be an object');
  if (depth > maxDepth) throw new SyntaxError(`a set of fields has more than ${maxDepth} levels`);
  let result: FieldSet | undefined;
  let previous = '';
  let hasOthers = false;
  for (const key in fields) {
    const value = fields[key]!;
    let element: string | undefined = key;
    let set = leaf;
    if (key !== selfKey) {
      hasOthers = true;
      element = normalizeElement(key);
      if (element !== undefined) set = readLevel(value, depth + 1);
    }
    const isSame = element === key && (set === value || isEmptyMap(value)) && previous < key;
    previous = key;
    if (isSame && result === undefined) continue;
    result ??= copyUntil(fields, key);
    // Two keys may be one element: `v:1` and `v:1.0`.
    if (element !== undefined)
      result[element] = Object.hasOwn(result, element) ? uniteValues(result[element]!, set) : set;
  }
  if (!hasOthers) return isEmptyMap(fields) ? (fields as unknown as FieldSet) : leaf;
  return result === undefined ? (fields as unknown as FieldSet) : sortLevel(result);
}

/** The keys before one that is not as it should be. */
function copyUntil(fields: JsonObject, end: string): FieldSet {
  const copy: FieldSet = {};
  for (const key in fields) {
    if (key === end) break;
    copy[key] = fields[key] as unknown as FieldSet;
  }
  return copy;
}

/** Sorts a set as it is written: by the bytes of the keys. Returns the argument itself if it is sorted. */
export function sortFieldSet(set: FieldSet): FieldSet {
  let result: FieldSet | undefined;
  let previous = '';
  let isSorted = true;
  for (const element in set) {
    isSorted = isSorted && previous < element;
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
    if (!(previous < element)) return sorted(set);
    previous = element;
  }
  return set;
}

const surrogate = /[\ud800-\udfff]/;

function sorted(set: FieldSet): FieldSet {
  const elements = Object.keys(set).toSorted();
  // Of these the order of code units is not the order of bytes.
  if (elements.some((element) => surrogate.test(element))) elements.sort(compareIndexValues);
  const result: FieldSet = {};
  for (const element of elements) result[element] = set[element]!;
  return result;
}
