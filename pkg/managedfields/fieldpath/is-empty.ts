import { isJsonObject, type JsonValue } from '#pkg/apimachinery/index';

/** Whether a set or a map has no keys. It enumerates all keys of a large one. */
export function isEmpty(map: object | undefined): boolean {
  for (const _ in map) return false;
  return true;
}

export function isEmptyMap(value: JsonValue): boolean {
  return isJsonObject(value) && isEmpty(value);
}
