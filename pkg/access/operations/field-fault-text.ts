import type { ErrorObject } from 'ajv';
import type { FieldRules } from './field-schemas.ts';

type FieldSchema = FieldRules & { type?: unknown; format?: string };

/**
 * Translates Ajv's errors of a field into the texts that clients know. Of several errors the one about the type counts,
 * then the first about the text. Undefined if there are none.
 */
export function fieldFaultText(errors: readonly ErrorObject[], field: FieldSchema): string | undefined {
  const error =
    errors.find(({ keyword }) => keyword === 'type') ?? errors.find(({ keyword }) => keyword !== 'enum') ?? errors[0];
  return error && textOf(error, field);
}

function textOf({ keyword, params, message, data, instancePath }: ErrorObject, field: FieldSchema): string | undefined {
  const isElement = instancePath.split('/').length > 2;
  const { limit } = params as { limit?: number };
  switch (keyword) {
    case 'required':
      return 'This field is required.';
    case 'minLength':
      return isElement ? 'An element may not be blank.' : 'This field may not be blank.';
    case 'maxLength':
      return `Ensure ${isElement ? 'each element' : 'this field'} has no more than ${limit} characters.`;
    case 'fault':
      return message;
  }
  if (field.refusal !== undefined) return field.refusal;
  return keyword === 'maxItems' ? `Ensure this field has no more than ${limit} elements.` : shapeText(field, data);
}

/** The text for a wrong type or format. */
function shapeText({ type, format }: FieldSchema, value: unknown): string {
  if (format === 'uuid') return 'Must be a valid UUID.';
  if (format === 'date-time') return 'Expected a time as in RFC 3339, like 2030-01-31T09:30:00Z.';
  if (type === 'boolean') return 'Must be a valid boolean.';
  if (type === 'array') return 'Expected a list of strings.';
  return value === null ? 'This field may not be null.' : 'Not a valid string.';
}
