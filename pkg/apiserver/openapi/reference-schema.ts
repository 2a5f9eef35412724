import {
  isJsonObject,
  type GroupVersionKind,
  type JsonObject,
  type JsonSchema,
  type JsonValue,
  type SlicedWork,
} from '#pkg/apimachinery/index';
import { toOpenApiSchema, withObjectFields } from './to-open-api-schema.ts';
import { reference, schemaName } from './kubernetes-schema.ts';

/** Kept because they tell clients how the server merges lists, and the rules in CEL. */
const keptExtensions = ['x-kubernetes-list-type', 'x-kubernetes-list-map-keys', 'x-kubernetes-validations'] as const;
const scalars: ReadonlySet<JsonValue | undefined> = new Set(['string', 'integer', 'number', 'boolean']);

/** A model's schema as JSON Schema 2020-12, the dialect of OpenAPI 3.1. */
export function* referenceObjectSchema(schema: JsonSchema, description: string): SlicedWork<JsonObject> {
  const { description: own, ...converted } = withObjectFields(yield* toOpenApiSchema(schema, referenceNode), metadata);
  return { description: own ?? description, required: ['apiVersion', 'kind', 'metadata'], ...withRequired(converted) };
}

/** A list with items of the kind. */
export function referenceListSchema(item: GroupVersionKind, listKind: string): JsonObject {
  return {
    description: `A list of ${item.kind}.`,
    allOf: [reference('ListEnvelope')],
    type: 'object',
    properties: { kind: { const: listKind }, items: { type: 'array', items: reference(schemaName(item)) } },
  };
}

function withRequired(schema: JsonObject): JsonObject {
  const own = Array.isArray(schema['required']) ? schema['required'] : [];
  return { ...schema, required: [...new Set(['apiVersion', 'kind', 'metadata', ...own])] };
}

function referenceNode(source: JsonSchema, common: JsonObject): JsonObject {
  for (const keyword of keptExtensions) {
    const value = source[keyword] as JsonValue | undefined;
    if (value !== undefined && value !== null) common[keyword] = value;
  }
  if (source.example !== undefined) common['examples'] = [source.example];
  if (source['x-kubernetes-int-or-string'] === true) common['type'] = ['integer', 'string'];
  if (source['x-kubernetes-preserve-unknown-fields'] === true && mayBeObject(source))
    common['additionalProperties'] ??= true;
  if (source['x-kubernetes-list-type'] === 'set' && scalars.has(source.items?.type)) common['uniqueItems'] = true;
  exclusive(source, common);
  portablePattern(common);
  const whole = source['x-kubernetes-embedded-resource'] === true ? embedded(common) : common;
  return source.nullable === true ? nullable(whole) : whole;
}

function mayBeObject({ type }: JsonSchema): boolean {
  return type === undefined || type === 'object';
}

/** In JSON Schema 2020-12 an exclusive bound is a number, not a flag. */
function exclusive(source: JsonSchema, common: JsonObject): void {
  for (const [flag, bound] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const) {
    if (source[flag] !== true || typeof common[bound] !== 'number') continue;
    common[flag] = common[bound];
    delete common[bound];
  }
}

/** The server's patterns are RE2; one that is invalid in ECMAScript must not break the client's validator. */
function portablePattern(common: JsonObject): void {
  const { pattern } = common;
  if (typeof pattern !== 'string') return;
  try {
    RegExp(pattern, 'u');
  } catch {
    delete common['pattern'];
    common['x-pattern-re2'] = pattern;
  }
}

function embedded(common: JsonObject): JsonObject {
  return withRequired(withObjectFields(common, metadata));
}

/** A schema's restrictions of names apply in addition to the rules for all objects. */
function metadata(own: JsonValue | undefined): JsonObject {
  const restrictions = isJsonObject(own) && isJsonObject(own['properties']) ? [{ properties: own['properties'] }] : [];
  return { allOf: [reference('ObjectMeta'), ...restrictions] };
}

/** Allows null in addition to the schema. */
function nullable(schema: JsonObject): JsonObject {
  const { type, enum: values, ...others } = schema;
  const combines = ['allOf', 'anyOf', 'oneOf', 'not'].some((keyword) => Object.hasOwn(others, keyword));
  if (type === undefined || combines) return { anyOf: [{ type: 'null' }, schema] };
  const types = Array.isArray(type) ? type : [type];
  return {
    ...others,
    type: [...types, 'null'],
    ...(Array.isArray(values) ? { enum: values.includes(null) ? values : [...values, null] } : {}),
  };
}
