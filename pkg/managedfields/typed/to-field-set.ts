import { type JsonValue, type SlicedWork } from '#pkg/apimachinery/index';
import { addingSelf, type FieldSet, leaf } from '../fieldpath/field-set.ts';
import { isSliceEnd } from '../fieldpath/slice-end.ts';
import { itemElement } from './list-item.ts';
import type { ListType, MapType, TypeNode } from './type-node.ts';
import { asList, asMap, elementOf, isLeafValue, valueKind, nodeAt } from './typed-value.ts';
import { isEmptyMap } from '../fieldpath/is-empty.ts';

/**
 * The fields that a configuration sets: its leaves, the items of sets and of lists with keys, and the keys of maps, but
 * not the named fields above them. An item that is there twice is a member without what is in it.
 * @throws InvalidItem for a value that was not validated.
 */
export function* collectingFields(node: TypeNode, value: JsonValue): SlicedWork<FieldSet> {
  const set = yield* valueSet(node, value);
  return set === undefined || set === leaf ? {} : set;
}

/** The set of a value: `leaf` if it is a member itself, undefined if it is empty and no member. */
function* valueSet(node: TypeNode, value: JsonValue): SlicedWork<FieldSet | undefined> {
  if (isLeafValue(node, value)) return leaf;
  return valueKind(node, value) === 'list'
    ? yield* itemSets(node.list, asList(value) ?? [])
    : yield* fieldSets(node.map, value);
}

function* fieldSets(map: MapType, value: JsonValue): SlicedWork<FieldSet | undefined> {
  const object = asMap(value);
  if (object === undefined) return undefined;
  let result: FieldSet | undefined;
  for (const key of Object.keys(object)) {
    if (isSliceEnd()) yield;
    const member = object[key]!;
    const node = nodeAt(map, key);
    if (node === undefined) continue;
    const set = isLeafValue(node, member) ? leaf : yield* valueSet(node, member);
    const isOwn = member === null || isEmptyMap(member) || !map.fields.has(key);
    const own = isOwn ? yield* asMember(set) : set;
    if (own !== undefined) (result ??= {})[elementOf(map, key)] = own;
  }
  return result;
}

function* itemSets(list: ListType, items: readonly JsonValue[]): SlicedWork<FieldSet | undefined> {
  let result: FieldSet | undefined;
  for (const item of items) {
    if (isSliceEnd()) yield;
    const element = itemElement(list, item);
    result ??= {};
    const isLeaf = Object.hasOwn(result, element) || isLeafValue(list.item, item);
    result[element] = isLeaf ? leaf : yield* asMember(yield* valueSet(list.item, item));
  }
  return result;
}

function* asMember(set: FieldSet | undefined): SlicedWork<FieldSet> {
  return set === undefined || set === leaf ? leaf : yield* addingSelf(set);
}
