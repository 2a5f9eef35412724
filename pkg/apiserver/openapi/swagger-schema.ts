import { isJsonObject, type JsonObject, type JsonValue, type SlicedWork } from '#pkg/apimachinery/index';

const componentPrefix = '#/components/schemas/';
const definitionPrefix = '#/definitions/';
/** Keywords that are dropped, or written in another way. */
const convertedKeywords: ReadonlySet<string> = new Set([
  '$ref',
  'additionalProperties',
  'allOf',
  'anyOf',
  'default',
  'items',
  'not',
  'nullable',
  'oneOf',
  'properties',
  'required',
  'type',
]);

/**
 * A schema of the OpenAPI 3.0 documents in Swagger 2.0, as Kubernetes publishes it there. Swagger has no `oneOf`,
 * `anyOf`, `not` and `nullable`, and Kubernetes publishes no defaults in it. kubectl reads an object with properties as one that has no others, so a value that may
 * be null or hold unknown fields loses its type and its properties: anything is valid then.
 * Source: apiextensions-apiserver, ToStructuralOpenAPIV2.
 */
export function* swaggerSchema(schema: JsonObject): SlicedWork<JsonObject> {
  yield;
  const target = targetOf(schema);
  if (target !== undefined) return { ...withoutStructure(schema), $ref: target };
  const { type, required, properties, items, additionalProperties } = schema;
  const keepsUnknown = schema['x-kubernetes-preserve-unknown-fields'] === true;
  const isOpen = keepsUnknown || isNullable(schema);
  const swagger = withoutStructure(schema);
  const hasType =
    type !== undefined &&
    !isNullable(schema) &&
    !(type === 'array' && (isOpen || items === undefined)) &&
    !(type === 'object' && keepsUnknown);
  if (hasType) swagger['type'] = type;
  const needed = requiredFields(required, properties);
  if (needed.length > 0 && !isNullable(additionalProperties)) swagger['required'] = needed;
  if (!isOpen && isJsonObject(properties) && Object.keys(properties).length > 0)
    swagger['properties'] = yield* eachConverted(properties);
  if (!isOpen && isJsonObject(items)) swagger['items'] = yield* swaggerSchema(items);
  if (additionalProperties !== undefined)
    swagger['additionalProperties'] = isJsonObject(additionalProperties)
      ? yield* swaggerSchema(additionalProperties)
      : additionalProperties;
  return swagger;
}

/** The schema as a whole of a model that keeps unknown fields at its top: with properties, kubectl would refuse them. */
export function openSwaggerSchema(schema: JsonObject): JsonObject {
  return { type: 'object', 'x-kubernetes-group-version-kind': schema['x-kubernetes-group-version-kind']! };
}

export function definitionReference(reference: string): string {
  return reference.replace(componentPrefix, definitionPrefix);
}

/** The only reference: `{ $ref }`, or `{ allOf: [{ $ref }] }` where OpenAPI 3.0 allows nothing next to it. */
function targetOf({ $ref, allOf }: JsonObject): string | undefined {
  if (typeof $ref === 'string') return definitionReference($ref);
  const [only] = Array.isArray(allOf) ? allOf : [];
  return isJsonObject(only) && typeof only['$ref'] === 'string' ? definitionReference(only['$ref']) : undefined;
}

function withoutStructure(schema: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => !convertedKeywords.has(keyword)));
}

function* eachConverted(properties: JsonObject): SlicedWork<JsonObject> {
  const converted: [string, JsonObject][] = [];
  for (const [name, schema] of Object.entries(properties))
    converted.push([name, yield* swaggerSchema(schema as JsonObject)]);
  // A property may be named `__proto__`.
  return Object.fromEntries(converted);
}

/** kubectl takes null for absent, so a field that may be null is not required. */
function requiredFields(required: JsonValue | undefined, properties: JsonValue | undefined): JsonValue[] {
  const fields = new Map<JsonValue, JsonValue>(Object.entries(isJsonObject(properties) ? properties : {}));
  return (Array.isArray(required) ? required : []).filter((name) => !isNullable(fields.get(name)));
}

function isNullable(schema: JsonValue | undefined): boolean {
  return isJsonObject(schema) && schema['nullable'] === true;
}
