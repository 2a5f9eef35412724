import { isJsonObject, type JsonObject, type JsonValue, type SlicedWork } from '#pkg/apimachinery/index';
import { type FieldSet, hasPath, subtractingSets } from '../fieldpath/field-set.ts';
import { encodeElementValue } from '../fieldpath/element-value.ts';
import { comparingTyped } from '../typed/compare.ts';
import { collectingFields } from '../typed/to-field-set.ts';
import type { TypeNode } from '../typed/type-node.ts';
import { validatingTyped } from '../typed/validate.ts';
import type { PathConflict } from './apply-conflict.ts';

/** The manager whose client-side apply is continued on the server. */
export const kubectlManager = 'kubectl';
const annotation = 'kubectl.kubernetes.io/last-applied-configuration';
const maxAnnotationsBytes = 256 * 1024;

/**
 * The conflicts that are left for kubectl: it may take a field that its last client-side apply set, as far as the value
 * is still the live one.
 */
export function* findingConflictsBeyondLastApplied(
  conflicts: readonly PathConflict[],
  node: TypeNode,
  live: JsonObject,
): SlicedWork<readonly PathConflict[]> {
  const allowed = yield* lastAppliedFields(node, live);
  return allowed === undefined ? conflicts : conflicts.filter(({ path }) => !hasPath(allowed, path));
}

/** The fields of the annotation that have the live values; undefined without a readable annotation. */
function* lastAppliedFields(node: TypeNode, live: JsonObject): SlicedWork<FieldSet | undefined> {
  const text = lastAppliedText(live);
  const config = text === undefined ? undefined : parseObject(text);
  if (config === undefined || config['apiVersion'] !== live['apiVersion']) return undefined;
  for (const each of [config, live]) if ((yield* validatingTyped(node, each)).length > 0) return undefined;
  const { changed, removed } = yield* comparingTyped(node, config, live);
  const unchanged = yield* subtractingSets(yield* collectingFields(node, config), changed);
  return yield* subtractingSets(unchanged, removed);
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value = JSON.parse(text) as JsonValue;
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function lastAppliedText(object: JsonObject): string | undefined {
  const metadata = object['metadata'];
  const annotations = isJsonObject(metadata) ? metadata['annotations'] : undefined;
  const text = isJsonObject(annotations) ? annotations[annotation] : undefined;
  return typeof text === 'string' && text !== '' ? text : undefined;
}

/** The object with the annotation of kubectl's client-side apply, if it has one, as kubectl would write it now. */
export function updateLastApplied(object: JsonObject, config: JsonObject): JsonObject {
  if (lastAppliedText(object) === undefined) return object;
  const metadata = object['metadata'] as JsonObject;
  const { [annotation]: _, ...others } = metadata['annotations'] as Record<string, string>;
  const annotations = { ...others, [annotation]: `${encodeElementValue(withoutAnnotation(config))}\n` };
  const isTooLarge = annotationsBytes(annotations) > maxAnnotationsBytes;
  return { ...object, metadata: { ...metadata, annotations: isTooLarge ? others : annotations } };
}

function withoutAnnotation(config: JsonObject): JsonObject {
  const metadata = config['metadata'];
  if (!isJsonObject(metadata) || !isJsonObject(metadata['annotations'])) return config;
  const { [annotation]: _, ...annotations } = metadata['annotations'];
  return { ...config, metadata: { ...metadata, annotations } };
}

function annotationsBytes(annotations: Record<string, string>): number {
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations)) bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  return bytes;
}
