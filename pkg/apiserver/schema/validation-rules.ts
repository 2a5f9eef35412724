import type { JsonSchema } from '#pkg/apimachinery/index';

/** Does any part of the schema carry rules (`x-kubernetes-validations`)? */
export function hasValidationRules(schema: JsonSchema): boolean {
  return (schema['x-kubernetes-validations'] ?? []).length > 0 || subschemas(schema).some(hasValidationRules);
}

function subschemas(schema: JsonSchema): JsonSchema[] {
  const additional = schema.additionalProperties;
  return [
    ...Object.values(schema.properties ?? {}),
    ...(typeof additional === 'object' && additional ? [additional] : []),
    ...(schema.items ? [schema.items] : []),
    ...(schema.allOf ?? []),
    ...(schema.anyOf ?? []),
    ...(schema.oneOf ?? []),
    ...(schema.not ? [schema.not] : []),
  ];
}
