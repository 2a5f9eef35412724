import { equalJson, type JsonObject, type JsonValue, type SlicedWork } from '#pkg/apimachinery/index';
import { isSliceEnd } from '../fieldpath/slice-end.ts';
import { isEmpty } from '../fieldpath/is-empty.ts';
import { itemElement } from './list-item.ts';
import type { ListType, MapType, TypeNode } from './type-node.ts';
import { asList, asMap, isLeafValue, valueKind, type MaybeValue, memberOf, nodeAt } from './typed-value.ts';

/**
 * A live object with an applied configuration merged into it. The configuration's leaves win, nothing is removed, and
 * the result shares values with both. Both were validated, the live one with duplicates allowed.
 */
export function* mergingTyped(node: TypeNode, live: JsonValue, config: JsonValue): SlicedWork<JsonValue> {
  return (yield* mergeValues(node, live, config)) ?? null;
}

/** One of the values may be undefined; the result is undefined if there is nothing. */
function* mergeValues(node: TypeNode | undefined, live: MaybeValue, config: MaybeValue): SlicedWork<MaybeValue> {
  if (node === undefined) return live;
  const value = config === undefined ? live : config;
  if (value === undefined || isLeafValue(node, value)) return value;
  return valueKind(node, value) === 'list'
    ? yield* mergeLists(node.list, live, config)
    : yield* mergeMaps(node.map, live, config);
}

function* mergeMaps(map: MapType, live: MaybeValue, config: MaybeValue): SlicedWork<MaybeValue> {
  const left = asMap(live);
  const right = asMap(config);
  const leftKeys = left === undefined ? [] : Object.keys(left);
  const rightKeys = right === undefined ? [] : Object.keys(right);
  if (leftKeys.length + rightKeys.length === 0) return config === undefined ? live : config;
  const result: JsonObject = {};
  for (const key of leftKeys) {
    if (isSliceEnd()) yield;
    const merged = yield* mergeValues(nodeAt(map, key), left![key], memberOf(right, key));
    if (merged !== undefined) result[key] = merged;
  }
  for (const key of rightKeys) {
    if (isSliceEnd()) yield;
    if (memberOf(left, key) !== undefined) continue;
    const merged = yield* mergeValues(nodeAt(map, key), undefined, right![key]);
    if (merged !== undefined) result[key] = merged;
  }
  return isEmpty(result) ? undefined : result;
}

function* mergeLists(list: ListType, live: MaybeValue, config: MaybeValue): SlicedWork<MaybeValue> {
  const left = asList(live) ?? [];
  const right = asList(config) ?? [];
  if (left.length + right.length === 0) return config === undefined ? live : config;
  // A large list that stays as it is, as most do.
  if (equalJson(left, right)) return config;
  const result = yield* mergeItems(list, left, right);
  return result.length === 0 ? undefined : result;
}

/**
 * Merges two lists whose items have keys. An item that only the live list has keeps its place, items of both have the
 * order of the configuration, and a new item follows the one before it in the configuration.
 */
function* mergeItems(list: ListType, left: readonly JsonValue[], right: readonly JsonValue[]): SlicedWork<JsonValue[]> {
  const leftElements = yield* elementsOf(list, left);
  const rightElements = yield* elementsOf(list, right);
  const leftItems = new Map<string, JsonValue>();
  // Items that are there twice are replaced together.
  for (const [at, element] of leftElements.entries()) leftItems.set(element, leftItems.has(element) ? null : left[at]!);
  const rightItems = new Map<string, JsonValue>();
  for (const [at, element] of rightElements.entries()) rightItems.set(element, right[at]!);
  const shared = rightElements.filter((element) => leftItems.has(element));
  const taken = new Set<string>();
  const result: JsonValue[] = [];
  let nextShared = 0;
  const take = function* (element: string): SlicedWork<void> {
    taken.add(element);
    const merged = yield* mergeValues(list.item, leftItems.get(element), rightItems.get(element));
    if (merged !== undefined) result.push(merged);
  };
  yield;
  for (let l = 0, r = 0; l < left.length || r < right.length;) {
    if (isSliceEnd()) yield;
    const element = leftElements[l];
    if (element !== undefined && r < right.length) {
      if (element === rightElements[r]) {
        yield* take(element);
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
        const kept = yield* mergeValues(list.item, left[l], undefined);
        if (kept !== undefined) result.push(kept);
        l += 1;
        continue;
      }
      if (taken.has(element)) l += 1;
    }
    const wanted = rightElements[r];
    if (wanted === undefined) continue;
    yield* take(wanted);
    r += 1;
    if (shared[nextShared] === wanted) nextShared += 1;
  }
  return result;
}

function* elementsOf(list: ListType, items: readonly JsonValue[]): SlicedWork<string[]> {
  const elements: string[] = [];
  for (const item of items) {
    if (isSliceEnd()) yield;
    elements.push(itemElement(list, item));
  }
  return elements;
}
