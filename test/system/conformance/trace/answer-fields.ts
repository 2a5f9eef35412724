import type { JsonObject, JsonValue } from '../../../../pkg/apimachinery/index.ts';

export function messageOf({ message }: JsonObject): string {
  return typeof message === 'string' ? message : '';
}

export function managedFieldsOf(object: JsonObject): JsonValue {
  return (object['metadata'] as JsonObject)['managedFields'] ?? [];
}

/**
 * Of a model of several versions: Kubernetes refuses to compare objects that do not fit the schema of another version,
 * for example because a set there is a list here and has an item twice; it drops all managed fields then.
 */
export function lostManagedFields(live: JsonObject | undefined, answer: JsonObject): boolean {
  return live !== undefined && isNotEmpty(managedFieldsOf(live)) && !isNotEmpty(managedFieldsOf(answer));
}

/** The same at an apply, which is answered with 500 then. */
export function failedToConvert(status: number, answer: JsonObject): boolean {
  return status === 500 && !messageOf(answer).startsWith('failed to create typed patch object');
}

function isNotEmpty(list: JsonValue): boolean {
  return Array.isArray(list) && list.length > 0;
}

/** Without what only the server sets. An empty map or list of metadata is not stored. */
export function comparable(object: JsonObject): JsonObject {
  const { metadata, ...content } = withoutServerFields(object);
  const kept = Object.entries(metadata as JsonObject).filter(([, value]) => JSON.stringify(value).length > 2);
  return { ...content, metadata: Object.fromEntries(kept) };
}

const serverFields = new Set([
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'managedFields',
  'namespace',
]);

export function withoutServerFields(object: JsonObject): JsonObject {
  const metadata = Object.entries(object['metadata'] as JsonObject).filter(([key]) => !serverFields.has(key));
  return { ...object, metadata: Object.fromEntries(metadata) };
}

export function sortedCauses(details: unknown): unknown {
  const { causes = [] } = (details ?? {}) as { causes?: { message: string; field: string }[] };
  return causes.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}
