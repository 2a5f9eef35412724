import {
  isJsonObject,
  type JsonObject,
  type JsonSchema,
  type JsonValue,
  type SlicedWork,
} from '#pkg/apimachinery/index';

/**
 * Keywords with the same meaning in every dialect. Any other keyword of a definition (`$ref`, unknown ones) is left out
 * of documents.
 */
const plainKeywords = [
  'type',
  'title',
  'description',
  'format',
  'default',
  'enum',
  'multipleOf',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'pattern',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
  'required',
] as const satisfies readonly (keyof JsonSchema)[];

/**
 * Converts one node to another dialect: `common` has the part that is the same in both, with children already
 * converted.
 */
export type Dialect = (source: JsonSchema, common: JsonObject) => JsonObject;

/**
 * A structural schema in another dialect, in slices; null keywords count as absent. The depth limit of definitions
 * bounds the recursion.
 */
export function* toOpenApiSchema(source: JsonSchema, dialect: Dialect): SlicedWork<JsonObject> {
  yield;
  const common: JsonObject = {};
  for (const keyword of plainKeywords) {
    const value: JsonValue | null | undefined = source[keyword];
    if (
      value !== undefined &&
      value !== null &&
      !(keyword === 'required' && Array.isArray(value) && value.length === 0)
    )
      common[keyword] = value;
  }
  const { properties, additionalProperties, items, not } = source;
  if (isJsonObject(properties)) {
    const converted: [string, JsonObject][] = [];
    for (const [name, schema] of Object.entries(properties))
      converted.push([name, yield* toOpenApiSchema(schema, dialect)]);
    // A property may be named `__proto__`.
    common['properties'] = Object.fromEntries(converted);
  }
  if (typeof additionalProperties === 'boolean') common['additionalProperties'] = additionalProperties;
  else if (isJsonObject(additionalProperties))
    common['additionalProperties'] = yield* toOpenApiSchema(additionalProperties, dialect);
  if (isJsonObject(items)) common['items'] = yield* toOpenApiSchema(items, dialect);
  if (isJsonObject(not)) common['not'] = yield* toOpenApiSchema(not, dialect);
  for (const keyword of ['allOf', 'anyOf', 'oneOf'] as const) {
    const branches = source[keyword];
    if (!Array.isArray(branches) || branches.length === 0) continue;
    const converted: JsonObject[] = [];
    for (const branch of branches) converted.push(yield* toOpenApiSchema(branch, dialect));
    common[keyword] = converted;
  }
  return dialect(source, common);
}

/**
 * An object schema with the fields of every object. `metadata` creates their schema from the model's own schema of
 * metadata, which may restrict names.
 */
export function withObjectFields(schema: JsonObject, metadata: (own: JsonValue | undefined) => JsonObject): JsonObject {
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {};
  const { apiVersion, kind, metadata: own, ...others } = properties;
  return {
    ...schema,
    type: 'object',
    properties: {
      apiVersion: describe(apiVersion, 'The group and version of this representation.'),
      kind: describe(kind, 'The type of the resource.'),
      metadata: { description: 'Standard metadata of the object.', ...metadata(own) },
      ...others,
    },
  };
}

function describe(schema: JsonValue | undefined, description: string): JsonObject {
  return { type: 'string', description, ...(isJsonObject(schema) ? schema : {}) };
}
