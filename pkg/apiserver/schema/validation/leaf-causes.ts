import type { ErrorObject } from 'ajv';
import { fieldError, isJsonObject, type JsonSchema, type JsonValue, type StatusCause } from '#pkg/apimachinery/index';
import { childPath } from '../child-schema.ts';

const maxShownLength = 200;

/** A failed rule in Kubernetes' wording. Source: k8s.io/kube-openapi/pkg/validation/errors. */
export function leafCause(error: ErrorObject, schema: JsonSchema, value: JsonValue, path: string): StatusCause {
  const params = error.params as Record<string, unknown>;
  const size = sizeOf(value);
  switch (error.keyword) {
    case 'required':
      return fieldError.required(childPath(path, String(params['missingProperty'])));
    case 'type':
      return typeCause(schema, value, path);
    case 'enum':
      return enumCause(schema, value, path);
    case 'format':
      return fieldError.typeInvalid(
        path,
        shown(value),
        `${subject(path)} must be of type ${schema.format}: ${JSON.stringify(shown(value))}`,
      );
    case 'pattern':
      return fieldError.invalid(path, shown(value), `${subject(path)} should match '${schema.pattern}'`);
    case 'maxLength':
      return fieldError.tooLong(path, Number(params['limit']));
    case 'maxItems':
      return fieldError.tooMany(path, size, Number(params['limit']));
    case 'minItems':
    case 'minProperties':
    case 'maxProperties':
      return fieldError.invalid(path, size, `${subject(path)} ${ruleText(error.keyword, params['limit'])}`);
    default:
      return fieldError.invalid(
        path,
        shown(value),
        `${subject(path)} ${ruleText(error.keyword, params['limit'] ?? schema.multipleOf)}`,
      );
  }
}

export function typeCause(schema: JsonSchema, value: JsonValue, path: string): StatusCause {
  const expected = schema['x-kubernetes-int-or-string'] ? 'integer,string' : (schema.type ?? 'object');
  const actual = typeName(value);
  return fieldError.typeInvalid(path, actual, `${subject(path)} must be of type ${expected}: "${actual}"`);
}

export function enumCause(schema: JsonSchema, value: JsonValue, path: string): StatusCause {
  return fieldError.notSupported(path, shown(value), (schema.enum ?? []).slice(0, maxShownLength).map(shown));
}

/** A failed combination has one cause, on the field: the server cannot know which branch was meant. */
export function combinationCause(path: string, text: string): StatusCause {
  return fieldError.invalid(path, '', `"${path}" must ${text}`);
}

function ruleText(keyword: string, limit: unknown): string {
  switch (keyword) {
    case 'minLength':
      return `should be at least ${String(limit)} chars long`;
    case 'minItems':
      return `should have at least ${String(limit)} items`;
    case 'minProperties':
      return `should have at least ${String(limit)} properties`;
    case 'maxProperties':
      return `should have at most ${String(limit)} properties`;
    case 'minimum':
      return `should be greater than or equal to ${String(limit)}`;
    case 'exclusiveMinimum':
      return `should be greater than ${String(limit)}`;
    case 'maximum':
      return `should be less than or equal to ${String(limit)}`;
    case 'exclusiveMaximum':
      return `should be less than ${String(limit)}`;
    default:
      return `should be a multiple of ${String(limit)}`;
  }
}

function subject(path: string): string {
  return path === '' ? 'body' : `${path} in body`;
}

function sizeOf(value: JsonValue): number {
  return Array.isArray(value) ? value.length : isJsonObject(value) ? Object.keys(value).length : 0;
}

/** Shortened before it becomes text: a value may have megabytes, and many rules may fail on it. */
function shown(value: JsonValue): JsonValue {
  if (typeof value === 'string') return value.length > maxShownLength ? `${value.slice(0, maxShownLength)}...` : value;
  return typeof value === 'object' && value !== null ? typeName(value) : value;
}

function typeName(value: JsonValue): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isSafeInteger(value) ? 'integer' : 'number';
  return typeof value;
}
