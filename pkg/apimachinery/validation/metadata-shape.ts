import { isJsonObject, type JsonObject, type JsonValue } from '../meta/object.ts';
import { formatPath, type PathSegment } from '../serializer/field-path.ts';
import { newBadRequest } from '../status/status-error.ts';
import { formatTimestamp, parseTimestamp } from '../serializer/timestamp.ts';

/** The JSON type of a field; objects name their fields, and maps and arrays the shape of each member. */
type Shape =
  | 'string'
  | 'integer'
  | 'boolean'
  | 'timestamp'
  | 'object'
  | { map: Shape }
  | { array: Shape }
  | { fields: Record<string, Shape> };

const ownerReference: Shape = {
  fields: {
    apiVersion: 'string',
    kind: 'string',
    name: 'string',
    uid: 'string',
    controller: 'boolean',
    blockOwnerDeletion: 'boolean',
  },
};
const managedFieldsEntry: Shape = {
  fields: {
    manager: 'string',
    operation: 'string',
    apiVersion: 'string',
    time: 'timestamp',
    fieldsType: 'string',
    fieldsV1: 'object',
    subresource: 'string',
  },
};
const objectMeta: Shape = {
  fields: {
    name: 'string',
    generateName: 'string',
    namespace: 'string',
    labels: { map: 'string' },
    annotations: { map: 'string' },
    uid: 'string',
    resourceVersion: 'string',
    generation: 'integer',
    creationTimestamp: 'timestamp',
    deletionTimestamp: 'timestamp',
    deletionGracePeriodSeconds: 'integer',
    finalizers: { array: 'string' },
    ownerReferences: { array: ownerReference },
    managedFields: { array: managedFieldsEntry },
  },
};

const maxPaths = 100;

/**
 * Gives `object.metadata` the JSON types of an ObjectMeta, in place: unknown fields are removed, a null counts as
 * absent (in labels and annotations as the empty string, as Go reads them), timestamps are converted to UTC and whole
 * seconds. Values are checked by `validateObjectMeta`.
 * @returns the paths of the fields removed, at most 100.
 * @throws StatusError 400 at the first wrong type, in Kubernetes' words.
 */
export function checkMetadataShape(object: JsonObject): string[] {
  const pruned: string[] = [];
  if (object['metadata'] === null) delete object['metadata'];
  const metadata = object['metadata'];
  if (metadata === undefined) return pruned;
  try {
    object['metadata'] = conform(metadata, objectMeta, ['metadata'], pruned);
  } catch (error) {
    throw error instanceof WrongType ? newBadRequest(`${subjectOf(object)}: ${error.message}`) : error;
  }
  return pruned;
}

class WrongType extends Error {
  constructor(path: readonly PathSegment[], reason: string) {
    super(`json: ${reason} into field ObjectMeta.${formatPath(path)}`);
    this.name = 'WrongType';
  }
}

function conform(value: JsonValue, shape: Shape, path: PathSegment[], pruned: string[]): JsonValue {
  if (typeof shape === 'string') return conformScalar(value, shape, path);
  if ('array' in shape) {
    if (!Array.isArray(value)) throw mismatch(value, path, 'array');
    return value.map((item, index) => conformMember(item, shape.array, [...path, index], pruned));
  }
  if (!isJsonObject(value)) throw mismatch(value, path, 'object');
  if ('map' in shape) {
    for (const key of Object.keys(value)) value[key] = conformMember(value[key]!, shape.map, [...path, key], pruned);
    return value;
  }
  for (const key of Object.keys(value)) {
    const field = Object.hasOwn(shape.fields, key) ? shape.fields[key] : undefined;
    if (field === undefined && pruned.length < maxPaths) pruned.push(formatPath([...path, key]));
    if (field === undefined || value[key] === null) delete value[key];
    else value[key] = conform(value[key]!, field, [...path, key], pruned);
  }
  return value;
}

/** A null member of an array or map is the zero value, not absent. */
function conformMember(value: JsonValue, shape: Shape, path: PathSegment[], pruned: string[]): JsonValue {
  if (value !== null) return conform(value, shape, path, pruned);
  return typeof shape === 'string' ? '' : {};
}

function conformScalar(value: JsonValue, type: Extract<Shape, string>, path: PathSegment[]): JsonValue {
  if (type === 'object') {
    if (isJsonObject(value)) return value;
  } else if (type === 'integer') {
    if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  } else if (type === 'timestamp') {
    const instant = typeof value === 'string' ? parseTimestamp(value) : undefined;
    if (instant !== undefined) return formatTimestamp(instant);
    if (typeof value === 'string') throw new WrongType(path, 'cannot parse the string as an RFC 3339 timestamp');
  } else if (typeof value === type) return value;
  throw mismatch(value, path, type === 'timestamp' ? 'string' : type);
}

function mismatch(value: JsonValue, path: readonly PathSegment[], expected: string): WrongType {
  const actual = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
  return new WrongType(path, `cannot unmarshal ${actual} as ${expected}`);
}

/** `Post in version "v1" cannot be handled as a Post`, as far as the body names its kind. */
function subjectOf(object: JsonObject): string {
  const { kind, apiVersion } = object;
  if (typeof kind !== 'string' || kind === '' || typeof apiVersion !== 'string')
    return 'the body cannot be handled as an object';
  const version = apiVersion.slice(apiVersion.lastIndexOf('/') + 1);
  return `${kind.slice(0, 63)} in version "${version.slice(0, 63)}" cannot be handled as a ${kind.slice(0, 63)}`;
}
