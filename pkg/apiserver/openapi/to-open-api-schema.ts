import {
  isJsonObject,
  type JsonObject,
  type JsonSchema,
  type JsonValue,
  type SlicedWork,
} from '#pkg/apimachinery/index';

/**
 * Keywords that mean the same in every dialect. What a definition may hold besides (`$ref`, anything unknown) reaches
 * no document.
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
 * Makes one node of the other dialect: `common` holds what is the same in both, with the parts below already converted.
 */
export type Dialect = (source: JsonSchema, common: JsonObject) => JsonObject;

/**
 * A structural schema in another dialect, in slices; null keywords count as absent. Recursion is bounded by the depth
 * that definitions may have.
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
    // One of them may be named `__proto__`.
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
 * An object schema with the fields every object has. `metadata` is a schema made of what the model says of its
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
