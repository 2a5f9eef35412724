import type { JsonValue } from '#pkg/apimachinery/index';
import { type FieldSet, leaf, withSelf } from '../fieldpath/field-set.ts';
import { itemElement } from './list-item.ts';
import type { ListType, MapType, TypeNode } from './type-node.ts';
import { asList, asMap, elementOf, valueKind, nodeAt } from './typed-value.ts';
import { isEmptyMap } from '../fieldpath/is-empty.ts';

/**
 * The fields that a configuration sets: its leaves, the items of sets and of lists with keys, and the keys of maps, but
 * not the named fields above them. An item that is there twice is a member without what is in it.
 * @throws InvalidItem for a value that was not validated.
 */
export function toFieldSet(node: TypeNode, value: JsonValue): FieldSet {
  const set = valueSet(node, value);
  return set === undefined || set === leaf ? {} : set;
}

/** The set of a value: `leaf` if it is a member itself, undefined if it is empty and no member. */
function valueSet(node: TypeNode, value: JsonValue): FieldSet | undefined {
  switch (valueKind(node, value)) {
    case 'scalar':
      return leaf;
    case 'list':
      return node.list.isAtomic ? leaf : itemSets(node.list, asList(value) ?? []);
    default:
      return node.map.isAtomic ? leaf : fieldSets(node.map, value);
  }
}

function fieldSets(map: MapType, value: JsonValue): FieldSet | undefined {
  const object = asMap(value);
  if (object === undefined) return undefined;
  let result: FieldSet | undefined;
  for (const key of Object.keys(object)) {
    const member = object[key]!;
    const node = nodeAt(map, key);
    if (node === undefined) continue;
    const set = valueSet(node, member);
    const isOwn = member === null || isEmptyMap(member) || !map.fields.has(key);
    const own = isOwn ? addSelf(set) : set;
    if (own !== undefined) (result ??= {})[elementOf(map, key)] = own;
  }
  return result;
}

function itemSets(list: ListType, items: readonly JsonValue[]): FieldSet | undefined {
  let result: FieldSet | undefined;
  for (const item of items) {
    const element = itemElement(list, item);
    result ??= {};
    result[element] = Object.hasOwn(result, element) ? leaf : addSelf(valueSet(list.item, item));
  }
  return result;
}

function addSelf(set: FieldSet | undefined): FieldSet {
  return set === undefined || set === leaf ? leaf : withSelf(set);
}
