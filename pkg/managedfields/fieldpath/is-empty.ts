import { isJsonObject, type JsonValue } from '#pkg/apimachinery/index';

/** Whether a set or a map has no keys. It enumerates all keys of a large one, unless it is a set with itself. */
export function isEmpty(map: object | undefined): boolean {
  if (map !== undefined && '.' in map) return false;
  for (const _ in map) return false;
  return true;
}

export function isEmptyMap(value: JsonValue): boolean {
  return isJsonObject(value) && isEmpty(value);
}
