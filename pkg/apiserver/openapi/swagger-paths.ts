import { isJsonObject, type JsonObject, type JsonValue } from '#pkg/apimachinery/index';
import { definitionReference } from './swagger-schema.ts';

/** A path item of the OpenAPI 3.0 documents in Swagger 2.0. */
export function swaggerPathItem(item: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(item).map(([name, value]) => [
      name,
      name === 'parameters' ? parametersOf(value) : operation(value as JsonObject),
    ]),
  );
}

function operation({ parameters, requestBody, responses, ...others }: JsonObject): JsonObject {
  const body = isJsonObject(requestBody) ? requestBody : undefined;
  const produced = new Set<string>();
  const swaggerResponses = Object.entries(responses as JsonObject).map(([code, response]) => {
    const { description, content } = response as JsonObject;
    for (const type of typesOf(content)) produced.add(type);
    const schema = firstSchema(content);
    return [code, { description: description!, ...(schema === undefined ? {} : { schema }) }];
  });
  return {
    ...(body === undefined ? {} : { consumes: typesOf(body['content']) }),
    produces: [...produced],
    parameters: [...(body === undefined ? [] : [bodyParameter(body)]), ...parametersOf(parameters)],
    responses: Object.fromEntries(swaggerResponses) as JsonObject,
    ...others,
  };
}

/** Swagger has one schema for bodies of all types: that of no patch in particular is any object. */
function bodyParameter({ required, content }: JsonObject): JsonObject {
  const schema = firstSchema(content);
  return {
    name: 'body',
    in: 'body',
    ...(required === true ? { required } : {}),
    schema: schema?.['$ref'] === undefined ? { type: 'object' } : schema,
  };
}

function parametersOf(parameters: JsonValue | undefined): JsonObject[] {
  return (Array.isArray(parameters) ? parameters : []).map((parameter) => {
    const { schema, ...others } = parameter as JsonObject;
    return { ...others, ...(schema as JsonObject) };
  });
}

function typesOf(content: JsonValue | undefined): string[] {
  return isJsonObject(content) ? Object.keys(content) : [];
}

function firstSchema(content: JsonValue | undefined): JsonObject | undefined {
  const [first] = isJsonObject(content) ? Object.values(content) : [];
  const schema = isJsonObject(first) ? first['schema'] : undefined;
  if (!isJsonObject(schema)) return undefined;
  return typeof schema['$ref'] === 'string' ? { $ref: definitionReference(schema['$ref']) } : schema;
}
