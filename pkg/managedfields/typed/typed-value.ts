import { isJsonObject, type JsonObject, type JsonValue } from '#pkg/apimachinery/index';
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

/** Whether the value is one leaf: a scalar, or a list or map that nobody owns a part of. */
export function isLeafValue(node: TypeNode, value: JsonValue): boolean {
  switch (valueKind(node, value)) {
    case 'scalar':
      return true;
    case 'list':
      return node.list.isAtomic;
    default:
      return node.map.isAtomic;
  }
}

export function asMap(value: MaybeValue): JsonObject | undefined {
  return isJsonObject(value) ? value : undefined;
}

export function asList(value: MaybeValue): JsonValue[] | undefined {
  return Array.isArray(value) ? value : undefined;
}

export function memberOf(map: JsonObject | undefined, key: string): MaybeValue {
  return map !== undefined && Object.hasOwn(map, key) ? map[key] : undefined;
}

/** The path element and the type of a key of a map; the type is undefined if the schema does not know the key. */
export function elementOf(map: MapType, key: string): string {
  return map.fields.get(key)?.element ?? fieldElement(key);
}

/** The type of what is at an element of a path; undefined if the schema does not know the element. */
export function nodeAtElement(map: MapType, element: string): TypeNode | undefined {
  const field = map.byElement.get(element);
  return field === undefined ? map.other : field.node;
}

export function nodeAt(map: MapType, key: string): TypeNode | undefined {
  const field = map.fields.get(key);
  return field === undefined ? map.other : field.node;
}
