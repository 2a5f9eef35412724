import { equalJson, type JsonObject, type JsonValue } from '#pkg/apimachinery/index';
import { itemElement } from './list-item.ts';
import type { ListType, MapType, TypeNode } from './type-node.ts';
import { asList, asMap, valueKind, type MaybeValue, memberOf, nodeAt } from './typed-value.ts';

/**
 * A live object with an applied configuration merged into it. The configuration's leaves win, nothing is removed, and
 * the result shares values with both. Both were validated, the live one with duplicates allowed.
 */
export function mergeTyped(node: TypeNode, live: JsonValue, config: JsonValue): JsonValue {
  return mergeValues(node, live, config) ?? null;
}

/** One of the values may be undefined; the result is undefined if there is nothing. */
function mergeValues(node: TypeNode, live: MaybeValue, config: MaybeValue): MaybeValue {
  const value = config === undefined ? live : config;
  if (value === undefined) return undefined;
  switch (valueKind(node, value)) {
    case 'scalar':
      return value;
    case 'list':
      return mergeLists(node.list, live, config);
    default:
      return mergeMaps(node, live, config);
  }
}

function mergeMaps(node: TypeNode, live: MaybeValue, config: MaybeValue): MaybeValue {
  const left = asMap(live);
  const right = asMap(config);
  const leftKeys = left === undefined ? [] : Object.keys(left);
  const rightKeys = right === undefined ? [] : Object.keys(right);
  const map = node.map;
  if (map.isAtomic || leftKeys.length + rightKeys.length === 0) return config === undefined ? live : config;
  const result: JsonObject = {};
  for (const key of leftKeys) mergeMember(map, result, key, left![key], memberOf(right, key));
  for (const key of rightKeys)
    if (memberOf(left, key) === undefined) mergeMember(map, result, key, undefined, right![key]);
  return Object.keys(result).length === 0 ? undefined : result;
}

function mergeMember(map: MapType, result: JsonObject, key: string, live: MaybeValue, config: MaybeValue): void {
  const node = nodeAt(map, key);
  const merged = node === undefined ? live : mergeValues(node, live, config);
  if (merged !== undefined) result[key] = merged;
}

function mergeLists(list: ListType, live: MaybeValue, config: MaybeValue): MaybeValue {
  const left = asList(live) ?? [];
  const right = asList(config) ?? [];
  if (list.isAtomic || left.length + right.length === 0) return config === undefined ? live : config;
  // A large list that stays as it is, as most do.
  if (equalJson(left, right)) return config;
  const result = mergeItems(list, left, right);
  return result.length === 0 ? undefined : result;
}

/**
 * Merges two lists whose items have keys. An item that only the live list has keeps its place, items of both have the
 * order of the configuration, and a new item follows the one before it in the configuration.
 */
function mergeItems(list: ListType, left: readonly JsonValue[], right: readonly JsonValue[]): JsonValue[] {
  const leftElements = left.map((item) => itemElement(list, item));
  const rightElements = right.map((item) => itemElement(list, item));
  const leftItems = new Map<string, JsonValue>();
  // Items that are there twice are replaced together.
  for (const [at, element] of leftElements.entries()) leftItems.set(element, leftItems.has(element) ? null : left[at]!);
  const rightItems = new Map<string, JsonValue>();
  for (const [at, element] of rightElements.entries()) rightItems.set(element, right[at]!);
  const shared = rightElements.filter((element) => leftItems.has(element));
  const taken = new Set<string>();
  const result: JsonValue[] = [];
  let nextShared = 0;
  const take = (element: string): void => {
    taken.add(element);
    const merged = mergeValues(list.item, leftItems.get(element), rightItems.get(element));
    if (merged !== undefined) result.push(merged);
  };
  for (let l = 0, r = 0; l < left.length || r < right.length;) {
    const element = leftElements[l];
    if (element !== undefined && r < right.length) {
      if (element === rightElements[r]) {
        take(element);
        l += 1;
        r += 1;
        nextShared += 1;
        continue;
      }
      if (rightItems.has(element) && nextShared < shared.length && shared[nextShared] !== element) {
        // It follows later, in the order of the configuration.
        l += 1;
        continue;
      }
    }
    if (element !== undefined) {
      if (!rightItems.has(element)) {
        const kept = mergeValues(list.item, left[l], undefined);
        if (kept !== undefined) result.push(kept);
        l += 1;
        continue;
      }
      if (taken.has(element)) l += 1;
    }
    const wanted = rightElements[r];
    if (wanted === undefined) continue;
    take(wanted);
    r += 1;
    if (shared[nextShared] === wanted) nextShared += 1;
  }
  return result;
}
