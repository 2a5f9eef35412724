import { equalJson } from '../meta/equal-json.ts';
import { isJsonObject, type JsonObject } from '../meta/object.ts';

/**
 * The merge patch (RFC 7386) that turns one object into another; undefined if they are the same. A property that
 * becomes null is removed: a merge patch cannot set null.
 */
export function mergePatchBetween(before: JsonObject, after: JsonObject): JsonObject | undefined {
  const patch: JsonObject = {};
  for (const key of Object.keys(before)) {
    if (!Object.hasOwn(after, key) || after[key] === undefined) patch[key] = null;
  }
  for (const [key, value] of Object.entries(after)) {
    if (value === undefined) continue;
    const old = Object.hasOwn(before, key) ? before[key] : undefined;
    if (isJsonObject(old) && isJsonObject(value)) {
      const inner = mergePatchBetween(old, value);
      if (inner !== undefined) patch[key] = inner;
    } else if (!equalJson(old, value)) patch[key] = value;
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}
