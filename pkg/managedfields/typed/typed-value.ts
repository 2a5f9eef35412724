import { isJsonObject, type JsonObject, type JsonValue } from '#pkg/apimachinery/index';
import { isEmptySet } from '../fieldpath/field-set.ts';
import type { FieldSet } from '../fieldpath/field-set.ts';
import type { MapType, TypeNode, ValueKind } from './type-node.ts';
import { fieldElement } from '../fieldpath/path-element.ts';

/** A value, or undefined where there is none: null is a value. */
export type MaybeValue = JsonValue | undefined;

/** As which kind a value is treated. Null is the empty value of whatever kind its type has. */
export function valueKind(node: TypeNode, value: JsonValue): ValueKind {
  if (node.kind !== 'any') return node.kind;
  if (Array.isArray(value)) return 'list';
  return typeof value === 'object' ? 'map' : 'scalar';
}

export function asMap(value: MaybeValue): JsonObject | undefined {
  return isJsonObject(value) ? value : undefined;
}

export function asList(value: MaybeValue): JsonValue[] | undefined {
  return Array.isArray(value) ? value : undefined;
}

export function isEmptyMap(value: JsonValue): boolean {
  return isJsonObject(value) && isEmptySet(value as unknown as FieldSet);
}

export function memberOf(map: JsonObject | undefined, key: string): MaybeValue {
  return map !== undefined && Object.hasOwn(map, key) ? map[key] : undefined;
}

/** The path element and the type of a key of a map; the type is undefined if the schema does not know the key. */
export function elementOf(map: MapType, key: string): string {
  return map.fields.get(key)?.element ?? fieldElement(key);
}

export function nodeAt(map: MapType, key: string): TypeNode | undefined {
  const field = map.fields.get(key);
  return field === undefined ? map.other : field.node;
}

/** Deep equality; the order of keys does not matter. */
export function isEqualValue(a: MaybeValue, b: MaybeValue): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    for (let index = 0; index < a.length; index += 1) if (!isEqualValue(a[index], b[index])) return false;
    return true;
  }
  if (Array.isArray(b)) return false;
  let count = 0;
  for (const key in a) {
    if (!Object.hasOwn(b, key) || !isEqualValue(a[key], b[key])) return false;
    count += 1;
  }
  return count === Object.keys(b).length;
}
