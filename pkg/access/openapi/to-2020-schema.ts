import type { JsonObject, JsonSchema } from '#pkg/apimachinery/index';

/** The same schema in JSON Schema 2020-12, the dialect of OpenAPI 3.1, which has no `nullable` and several examples. */
export function to2020Schema(schema: JsonSchema): JsonObject {
  const {
    nullable,
    example,
    type,
    properties,
    items,
    additionalProperties,
    anyOf,
    oneOf,
    enum: values,
    ...rest
  } = schema;
  return {
    ...(type === undefined ? {} : { type: nullable === true ? [type, 'null'] : type }),
    ...(rest as JsonObject),
    ...(example === undefined ? {} : { examples: [example] }),
    ...(values === undefined ? {} : { enum: nullable === true && !values.includes(null) ? [...values, null] : values }),
    ...(properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(
            Object.entries(properties).map(([name, property]) => [name, to2020Schema(property)]),
          ),
        }),
    ...(items === undefined ? {} : { items: to2020Schema(items) }),
    ...(additionalProperties === undefined
      ? {}
      : {
          additionalProperties:
            typeof additionalProperties === 'boolean' ? additionalProperties : to2020Schema(additionalProperties),
        }),
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map(to2020Schema) }),
    ...(oneOf === undefined ? {} : { oneOf: oneOf.map(to2020Schema) }),
  };
}
