import type { OpenApiSchema } from '../server/open-api-schema.ts';
import { texts } from '../texts/texts.ts';

/** The rules of a field; empty if it has none. */
export function rulesText(schema: OpenApiSchema): string {
  const rules = [
    schema.enum === undefined
      ? undefined
      : texts.fields.oneOf(schema.enum.map((value) => JSON.stringify(value)).join(', ')),
    rangeText(texts.fields.value, schema.minimum, schema.maximum),
    rangeText(texts.fields.length, schema.minLength, schema.maxLength),
    rangeText(texts.fields.elements, schema.minItems, schema.maxItems),
    schema.pattern === undefined ? undefined : texts.fields.pattern(schema.pattern),
    schema.default === undefined ? undefined : texts.fields.default(JSON.stringify(schema.default)),
    schema.nullable === true ? texts.fields.nullable : undefined,
  ];
  return rules.filter((rule) => rule !== undefined).join('; ');
}

function rangeText(what: string, min: number | undefined, max: number | undefined): string | undefined {
  return min === undefined && max === undefined ? undefined : texts.fields.range(what, min, max);
}
