import { isJsonObject, type JsonObject, type JsonValue, type SlicedWork } from '#pkg/apimachinery/index';
import { setBelow, type FieldSet, isMember } from '../fieldpath/field-set.ts';
import { itemElement } from './list-item.ts';
import type { ListType, MapType, TypeNode } from './type-node.ts';
import { elementOf, valueKind, nodeAt } from './typed-value.ts';
import { isEmpty } from '../fieldpath/is-empty.ts';
import { isSliceEnd } from '../fieldpath/slice-end.ts';

/**
 * The value without the members of a set. What is below a member goes with it. A map or list that is emptied becomes
 * null, and the value itself is returned if nothing is removed.
 */
export function* removingFields(node: TypeNode, value: JsonValue, fields: FieldSet): SlicedWork<JsonValue> {
  if (isEmpty(fields)) return value;
  switch (valueKind(node, value)) {
    case 'scalar':
      return value;
    case 'list':
      return Array.isArray(value) && !node.list.isAtomic ? yield* removingItems(node.list, value, fields) : null;
    default:
      return isJsonObject(value) && !node.map.isAtomic ? yield* removingMembers(node.map, value, fields) : null;
  }
}

function* removingMembers(map: MapType, value: JsonObject, fields: FieldSet): SlicedWork<JsonValue> {
  const result: JsonObject = {};
  for (const key of Object.keys(value)) {
    if (isSliceEnd()) yield;
    const node = nodeAt(map, key);
    const below = setBelow(fields, elementOf(map, key));
    if (below !== undefined && isMember(below)) continue;
    result[key] =
      below === undefined || node === undefined ? value[key]! : yield* removingFields(node, value[key]!, below);
  }
  return isEmpty(result) ? null : result;
}

function* removingItems(list: ListType, items: readonly JsonValue[], fields: FieldSet): SlicedWork<JsonValue> {
  const result: JsonValue[] = [];
  for (const item of items) {
    if (isSliceEnd()) yield;
    const below = setBelow(fields, itemElement(list, item));
    if (below !== undefined && isMember(below)) continue;
    result.push(below === undefined ? item : yield* removingFields(list.item, item, below));
  }
  return result.length === 0 ? null : result;
}
