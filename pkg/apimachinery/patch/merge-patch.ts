import { isJsonObject, type JsonObject, type JsonValue } from '../meta/object.ts';
import { newBadRequest } from '../status/status-error.ts';
import { isPrototypeKey, maxJsonDepth, newTooDeep } from '../serializer/value-rules.ts';

/**
 * The document after a JSON merge patch (RFC 7386): null deletes, objects merge, anything else replaces. Neither
 * argument is changed, and the result shares nothing with them.
 * @throws StatusError 400 for a patch that is not an object, which would replace the document, or for more than 100
 * levels.
 */
export function applyMergePatch(document: JsonValue, patch: unknown): JsonValue {
  if (!isJsonObject(patch)) throw newBadRequest('a merge patch must be an object');
  return merge(document, patch, 1);
}

/** With `patch` undefined, a copy of the target. */
function merge(target: JsonValue | undefined, patch: JsonValue | undefined, depth: number): JsonValue {
  const value = patch === undefined ? target : patch;
  if (typeof value !== 'object' || value === null) return value ?? null;
  if (depth > maxJsonDepth) throw newTooDeep();
  // Inside arrays null is an ordinary value.
  if (Array.isArray(value)) return value.map((item) => merge(item, undefined, depth + 1));
  const result: JsonObject = {};
  const base = isJsonObject(target) ? target : {};
  const changes = patch === undefined ? {} : value;
  for (const key of Object.keys(base)) {
    if (!isPrototypeKey(key) && !Object.hasOwn(changes, key)) result[key] = merge(base[key], undefined, depth + 1);
    else if (!isPrototypeKey(key) && changes[key] !== null) result[key] = merge(base[key], changes[key], depth + 1);
  }
  for (const key of Object.keys(changes)) {
    if (!isPrototypeKey(key) && !Object.hasOwn(base, key) && changes[key] !== null)
      result[key] = merge(undefined, changes[key], depth + 1);
  }
  return result;
}
