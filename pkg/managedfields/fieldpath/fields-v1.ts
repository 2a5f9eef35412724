import { compareIndexValues, isJsonObject, type JsonObject, type JsonValue } from '#pkg/apimachinery/index';
import { type FieldSet, isEmptySet, leaf, selfKey, unionSets } from './field-set.ts';
import { normalizeElement } from './path-element.ts';

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
  const keys = Object.keys(fields);
  let result: FieldSet | undefined;
  let previous = '';
  for (const [position, key] of keys.entries()) {
    const value = fields[key]!;
    let element: string | undefined = key;
    let set = leaf;
    if (key !== selfKey) {
      element = normalizeElement(key);
      if (element !== undefined) set = readLevel(value, depth + 1);
    }
    const isSame = element === key && (set === value || isEmptyObject(value)) && previous < key;
    previous = key;
    if (isSame && result === undefined) continue;
    result ??= pick(fields, keys.slice(0, position));
    if (element !== undefined) result[element] = Object.hasOwn(result, element) ? unite(result[element]!, set) : set;
  }
  if (keys.length === 1 && keys[0] === selfKey) return leaf;
  return result === undefined ? (fields as unknown as FieldSet) : sortLevel(result);
}

function isEmptyObject(value: JsonValue): boolean {
  return isJsonObject(value) && isEmptySet(value as unknown as FieldSet);
}

function pick(fields: JsonObject, keys: readonly string[]): FieldSet {
  const copy: FieldSet = {};
  for (const key of keys) copy[key] = fields[key] as unknown as FieldSet;
  return copy;
}

/** Two keys may be one element: `v:1` and `v:1.0`. */
function unite(a: FieldSet, b: FieldSet): FieldSet {
  return unionSets({ element: a }, { element: b })['element']!;
}

/** Sorts a set as it is written: by the bytes of the keys. Returns the argument itself if it is sorted. */
export function sortFieldSet(set: FieldSet): FieldSet {
  let result: FieldSet | undefined;
  for (const element of Object.keys(set)) {
    const below = set[element]!;
    const sorted = isEmptySet(below) ? below : sortFieldSet(below);
    if (sorted === below) continue;
    result ??= { ...set };
    result[element] = sorted;
  }
  return sortLevel(result ?? set);
}

function sortLevel(set: FieldSet): FieldSet {
  let previous = '';
  for (const element in set) {
    if (!(previous < element)) return sorted(set);
    previous = element;
  }
  return set;
}

function sorted(set: FieldSet): FieldSet {
  const result: FieldSet = {};
  const elements = Object.keys(set).toSorted(compareIndexValues);
  for (const element of elements) result[element] = set[element]!;
  return result;
}
