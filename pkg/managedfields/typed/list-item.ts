import { isJsonObject, type JsonValue } from '#pkg/apimachinery/index';
import { keyElement, valueElement } from '../fieldpath/path-element.ts';
import type { ListType } from './type-node.ts';
import { TypedError } from './typed-error.ts';

/** An item of a list has no path element: it lacks its keys, or is not of the kind that its list has. */
export class InvalidItem extends TypedError {
  constructor(message: string) {
    super(message);
    this.name = 'InvalidItem';
  }
}

/**
 * The path element of an item: its keys, with their defaults, or the value itself in a set.
 * @throws InvalidItem
 */
export function itemElement(list: ListType, item: JsonValue): string {
  if (list.keys.length === 0) return setElement(item);
  if (item === null) throw new InvalidItem('associative list with keys may not have a null element');
  if (!isJsonObject(item)) throw new InvalidItem('associative list with keys may not have non-map elements');
  const fields: [string, JsonValue][] = [];
  for (const key of list.keys) {
    const value = Object.hasOwn(item, key) ? item[key] : list.item.map.fields.get(key)?.default;
    if (value !== undefined && (value !== null || Object.hasOwn(item, key))) fields.push([key, value as JsonValue]);
  }
  if (fields.length > 0) return keyElement(fields);
  const keys = list.keys.map((key) => JSON.stringify(key)).join(' ');
  throw new InvalidItem(
    `associative list with keys has an element that omits all key fields [${keys}] (and doesn't have default values for any key fields)`,
  );
}

function setElement(item: JsonValue): string {
  if (item === null) throw new InvalidItem("associative list without keys has an element that's an explicit null");
  if (Array.isArray(item)) throw new InvalidItem('not supported: associative list with lists as elements');
  if (isJsonObject(item)) throw new InvalidItem("associative list without keys has an element that's a map type");
  return valueElement(item);
}
