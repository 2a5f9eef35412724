import type { TSchema } from 'typebox';
import { isPrototypeKey, type JsonObject, type JsonSchema, type JsonValue } from '#pkg/apimachinery/index';
import { toStructuralSchema } from '../../../model/to-structural-schema.ts';

const maxDepth = 100;

/**
 * A TypeBox schema as plain JSON, which requests are validated with. @throws TypeError with the path, for a schema that
 * JSON cannot express
 */
export function plainSchema(schema: TSchema, path: string): JsonObject {
  const plain = plainAt(schema, path, 0);
  if (typeof plain !== 'object' || plain === null || Array.isArray(plain)) throw new TypeError(`${path} is no schema`);
  return plain;
}

/** The schema for the API reference: in the dialect of definitions if that can express it, else unchanged. */
export function describedSchema(schema: TSchema, path: string): JsonSchema {
  try {
    return toStructuralSchema(schema, path);
  } catch (error) {
    if (error instanceof TypeError) return plainSchema(schema, path);
    throw error;
  }
}

function plainAt(value: unknown, path: string, depth: number): JsonValue {
  if (depth > maxDepth) throw new TypeError(`${path} is nested deeper than ${maxDepth} levels`);
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number' || typeof value === 'bigint') return numberAt(value, path);
  if (value instanceof RegExp) return value.source;
  if (Array.isArray(value)) return value.map((item, i) => plainAt(item, `${path}[${i}]`, depth + 1));
  if (typeof value !== 'object') throw new TypeError(`${path} is a ${typeof value}, which JSON cannot say`);
  if (Object.hasOwn(value, '~refine')) throw new TypeError(`${path} has a refinement: check that in the handler`);
  if (Object.hasOwn(value, '~codec')) throw new TypeError(`${path} has a codec: requests are what JSON says`);
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => {
      if (isPrototypeKey(key)) throw new TypeError(`${path} has the name ${key}, which no object can have`);
      return inner === undefined ? [] : [[key, plainAt(inner, `${path}.${key}`, depth + 1)]];
    }),
  );
}

function numberAt(value: number | bigint, path: string): number {
  const number = Number(value);
  if (!Number.isFinite(number) || (typeof value === 'bigint' && BigInt(number) !== value))
    throw new TypeError(`${path} is a number that JSON cannot say: ${value}`);
  return number;
}
