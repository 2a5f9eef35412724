import { isJsonObject, type JsonObject, type JsonValue } from '#pkg/apimachinery/index';
import { equalJson } from '../../schema/json-value.ts';

/**
 * Would writing `wanted` change nothing? The revision does not count, nor do the times in managedFields, which every
 * write renews.
 */
export function isSameObject(wanted: JsonObject, stored: JsonObject): boolean {
  const { metadata: wantedMeta, ...wantedRest } = wanted;
  const { metadata: storedMeta, ...storedRest } = stored;
  return equalJson(wantedRest, storedRest) && equalJson(comparable(wantedMeta), comparable(storedMeta));
}

function comparable(metadata: JsonValue | undefined): JsonValue | undefined {
  if (!isJsonObject(metadata)) return metadata;
  const { resourceVersion: _, managedFields, ...rest } = metadata;
  return Array.isArray(managedFields) ? { ...rest, managedFields: managedFields.map(withoutTime) } : rest;
}

function withoutTime(entry: JsonValue): JsonValue {
  if (!isJsonObject(entry)) return entry;
  const { time: _, ...rest } = entry;
  return rest;
}
