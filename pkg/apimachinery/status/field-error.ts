import type { StatusCause } from './status.ts';

/**
 * Causes of a 422, one per field, in the texts that Kubernetes clients know. Source:
 * k8s.io/apimachinery/pkg/util/validation/field.
 */
export function required(field: string, detail = ''): StatusCause {
  return { reason: 'FieldValueRequired', message: join('Required value', detail), field };
}

export function invalid(field: string, value: unknown, detail: string): StatusCause {
  return { reason: 'FieldValueInvalid', message: join(`Invalid value: ${show(value)}`, detail), field };
}

export function typeInvalid(field: string, value: unknown, detail: string): StatusCause {
  return { reason: 'FieldValueTypeInvalid', message: join(`Invalid value: ${show(value)}`, detail), field };
}

export function notSupported(field: string, value: unknown, supported: readonly unknown[]): StatusCause {
  return {
    reason: 'FieldValueNotSupported',
    message: `Unsupported value: ${show(value)}: supported values: ${supported.map(show).join(', ')}`,
    field,
  };
}

export function duplicate(field: string, value: unknown): StatusCause {
  return { reason: 'FieldValueDuplicate', message: `Duplicate value: ${show(value)}`, field };
}

/** `max` in bytes. */
export function tooLong(field: string, max: number): StatusCause {
  return { reason: 'FieldValueTooLong', message: `Too long: may not be more than ${max} bytes`, field };
}

/** `max` in items. */
export function tooMany(field: string, actual: number, max: number): StatusCause {
  return { reason: 'FieldValueTooMany', message: `Too many: ${actual}: must have at most ${max} items`, field };
}

export function forbidden(field: string, detail: string): StatusCause {
  return { reason: 'FieldValueForbidden', message: join('Forbidden', detail), field };
}

/** Shortened: a message is for people, and a body may have megabytes. */
function show(value: unknown): string {
  const text = JSON.stringify(value) ?? 'null';
  return text.length <= 200 ? text : `${text.slice(0, 197)}...`;
}

function join(head: string, detail: string): string {
  return detail === '' ? head : `${head}: ${detail}`;
}
