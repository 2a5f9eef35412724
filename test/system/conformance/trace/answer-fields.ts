import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '../../../../pkg/apimachinery/index.ts';
import { hasNull } from '../../../../pkg/apiserver/schema/json-value.ts';
import type { StepRequest } from './trace.ts';

export function messageOf({ message }: JsonObject): string {
  return typeof message === 'string' ? message : '';
}

export function nameOf({ metadata }: JsonObject): string {
  return (metadata as { name: string }).name;
}

export function managedFieldsOf({ metadata }: JsonObject): JsonObject[] {
  return (metadata as { managedFields?: JsonObject[] }).managedFields ?? [];
}

/**
 * Of a model of several versions: Kubernetes refuses to compare objects that do not fit the schema of another version,
 * for example because a set there is a list here and has an item twice; it drops all managed fields then.
 */
export function lostManagedFields(live: JsonObject | undefined, answer: JsonObject): boolean {
  return live !== undefined && managedFieldsOf(live).length > 0 && managedFieldsOf(answer).length === 0;
}

/** The same at an apply, which is answered with 500 then. */
export function failedToConvert(status: number, answer: JsonObject): boolean {
  return status === 500 && !messageOf(answer).startsWith('failed to create typed patch object');
}

/**
 * A null in a field without a type, which allows none: Kubernetes counts it as a change, in generation, times or
 * revision, and does not store it.
 */
export function countsUnstoredNull(
  { verb, body }: StepRequest,
  live: JsonObject | undefined,
  answer: JsonObject,
): boolean {
  return (
    verb === 'apply' &&
    live !== undefined &&
    (generationOf(answer) !== generationOf(live) ||
      (hasNull(body) && !isDeepStrictEqual(managedFieldsOf(answer), managedFieldsOf(live)))) &&
    isDeepStrictEqual({ ...comparable(answer), metadata: {} }, { ...comparable(live), metadata: {} })
  );
}

export function generationOf(object: JsonObject | undefined): number {
  return ((object?.['metadata'] as JsonObject | undefined)?.['generation'] as number | undefined) ?? 0;
}

/**
 * A write that makes too many entries unites the oldest of a version as `ancient-changes`. Where such an entry is there
 * already and another one is older, as one of `/scale`, which has no time, Kubernetes deletes what it united. If there
 * are still too many entries then, it unites the next ones, under the same name.
 */
export function lostAncientChanges(live: JsonObject | undefined, answer: JsonObject): boolean {
  const updates = live === undefined ? [] : managedFieldsOf(live).filter(({ operation }) => operation === 'Update');
  const left = managedFieldsOf(answer).filter(isAncientChanges);
  return updates.some((entry, index) => {
    const version = versionOf(entry);
    const isOldest = !updates.slice(0, index).some((older) => versionOf(older) === version);
    const isLeft = (other: JsonObject): boolean =>
      versionOf(other) === version && (other['time'] === entry['time'] || hasFields(fieldsOf(other), fieldsOf(entry)));
    return isAncientChanges(entry) && !isOldest && !left.some(isLeft);
  });
}

function fieldsOf({ fieldsV1 }: JsonObject): JsonObject {
  return fieldsV1 as JsonObject;
}

/** Does a fieldsV1 have each field of another one? A path without fields below it is a field, as is one with a `.`. */
function hasFields(fields: JsonObject, others: JsonObject): boolean {
  return Object.entries(others).every(([name, below]) => {
    const found = fields[name] as JsonObject | undefined;
    if (found === undefined) return name === '.' && Object.keys(fields).length === 0;
    if (Object.keys(below as JsonObject).length > 0) return hasFields(found, below as JsonObject);
    return '.' in found || Object.keys(found).length === 0;
  });
}

function versionOf({ apiVersion }: JsonObject): unknown {
  return apiVersion;
}

function isAncientChanges({ manager }: JsonObject): boolean {
  return manager === 'ancient-changes';
}

/**
 * At `/scale` Kubernetes adds the replicas as an entry beside the one that the manager has already of other fields, and
 * forgets one of them at the next write.
 */
export function hasEntryTwice(scaled: JsonObject): boolean {
  const identities = managedFieldsOf(scaled).map(({ fieldsV1: _fields, time: _time, ...identity }) =>
    JSON.stringify(identity),
  );
  return new Set(identities).size < identities.length;
}

/**
 * At `/scale` Kubernetes takes the replicas from managers who keep them, and gives them back in other entries: with the
 * version of the request, without a time, and beside the entry that the manager has already.
 */
export function rewritesKeptReplicas(
  { subresource, manager }: StepRequest,
  live: JsonObject | undefined,
  scaled: JsonObject | undefined,
): boolean {
  if (subresource !== 'scale' || live === undefined || scaled === undefined) return false;
  const others = (object: JsonObject): JsonObject[] =>
    managedFieldsOf(object).filter((entry) => entry['manager'] !== manager || entry['subresource'] !== 'scale');
  return replicasOf(live) === replicasOf(scaled) && !isDeepStrictEqual(others(live), others(scaled));
}

function replicasOf({ spec }: JsonObject): unknown {
  return (spec as JsonObject | undefined)?.['replicas'];
}

/** An apply of a Scale whose replicas have no manager: Kubernetes cannot convert it, and answers 500. */
export function failedToConvertScale(subresource: string, status: number): boolean {
  return subresource === 'scale' && status === 500;
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
