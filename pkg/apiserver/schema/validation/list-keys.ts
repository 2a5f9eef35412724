import {
  isJsonObject,
  type JsonObject,
  type JsonSchema,
  type JsonValue,
  type SlicedWork,
} from '#pkg/apimachinery/index';
import { canonicalJson } from '../json-value.ts';

export type ItemKey = (item: JsonValue) => string;

/**
 * The identity of items in this list: their keys (map), the whole item (set); undefined if only order counts (atomic).
 */
export function itemKeyOf(schema: JsonSchema): ItemKey | undefined {
  if (schema['x-kubernetes-list-type'] === 'set') return canonicalJson;
  if (schema['x-kubernetes-list-type'] !== 'map') return undefined;
  return (item) => canonicalJson(keysOf(item, schema));
}

/** The value of a duplicate in its cause: the item of a set, the keys of a map's item. */
export function duplicateValue(item: JsonValue, schema: JsonSchema): JsonValue {
  return schema['x-kubernetes-list-type'] === 'map' ? keysOf(item, schema) : item;
}

const itemsPerSlice = 64;

/** The key of each item, in order. */
export function* keysInList(list: readonly JsonValue[], keyOf: ItemKey): SlicedWork<string[]> {
  const keys: string[] = [];
  for (const item of list) {
    keys.push(keyOf(item));
    if (keys.length % itemsPerSlice === 0) yield;
  }
  return keys;
}

/** Keys that occur more than once. */
export function repeatedKeys(keys: readonly string[]): Set<string> {
  const seen = new Set<string>();
  const twice = new Set<string>();
  for (const key of keys) (seen.has(key) ? twice : seen).add(key);
  return twice;
}

function keysOf(item: JsonValue, schema: JsonSchema): JsonObject {
  const keys: JsonObject = {};
  if (!isJsonObject(item)) return keys;
  for (const name of schema['x-kubernetes-list-map-keys'] ?? []) {
    const value = Object.hasOwn(item, name) ? item[name] : undefined;
    if (value !== undefined && name !== '__proto__') keys[name] = value;
  }
  return keys;
}
