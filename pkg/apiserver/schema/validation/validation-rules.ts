import type { JsonSchema } from '#pkg/apimachinery/index';

/** Whether any part of the schema has rules (`x-kubernetes-validations`). */
export function hasValidationRules(schema: JsonSchema): boolean {
  if ((schema['x-kubernetes-validations'] ?? []).length > 0) return true;
  for (const name of Object.keys(schema.properties ?? {}))
    if (hasValidationRules(schema.properties![name]!)) return true;
  const { additionalProperties: additional, items, not } = schema;
  return [
    typeof additional === 'object' ? additional : undefined,
    items,
    not,
    ...(schema.allOf ?? []),
    ...(schema.anyOf ?? []),
    ...(schema.oneOf ?? []),
  ].some(
    // Null counts as absent.
    (part) => part !== undefined && part !== null && hasValidationRules(part),
  );
}
