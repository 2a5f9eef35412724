import type { JsonSchema, JsonValue } from '#pkg/apimachinery/index';
import { newSchemaError } from './schema-error.ts';

/** Allows exactly these values; they have one type, except for null, and integers among strings. */
export function enumSchema(values: readonly unknown[], path: string): JsonSchema {
  const allowed = values.map((value) => literalAt(value, path));
  const kinds = new Set(allowed.map(kindOf));
  const nullable = kinds.delete('null');
  const type =
    kinds.has('number') && kinds.delete('integer') && kinds.size === 1 ? 'number' : [...kinds].toSorted().join();
  const rest = { enum: [...new Set(allowed)], ...(nullable ? { nullable } : {}) };
  if (type === 'integer,string') return { 'x-kubernetes-int-or-string': true, ...rest };
  if (type === 'string' || type === 'integer' || type === 'number' || type === 'boolean') return { type, ...rest };
  throw newSchemaError(path, 'has literals of several types; a field has one, or null, or is an integer or a string');
}

/** The same schema, nullable. An enum must list null too, or null is refused. */
export function withNull(schema: JsonSchema, nullable: boolean): JsonSchema {
  if (!nullable && schema.nullable !== true) return schema;
  return {
    ...schema,
    nullable: true,
    ...(schema.enum === undefined || schema.enum.includes(null) ? {} : { enum: [...schema.enum, null] }),
  };
}

function literalAt(value: unknown, path: string): JsonValue {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw newSchemaError(path, `has a literal of type ${typeof value}; literals are strings, numbers, booleans or null`);
}

function kindOf(value: JsonValue): string {
  if (value === null) return 'null';
  if (typeof value === 'number') return Number.isSafeInteger(value) ? 'integer' : 'number';
  return typeof value;
}
