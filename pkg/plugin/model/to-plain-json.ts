import type { JsonValue } from '#pkg/apimachinery/index';
import { newSchemaError } from './schema-error.ts';

const maxDepth = 100;

/** The value as plain JSON. @throws TypeError for a value that JSON cannot express */
export function jsonAt(value: unknown, path: string, depth = 0): JsonValue {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (depth < maxDepth && Array.isArray(value)) return value.map((item) => jsonAt(item, path, depth + 1));
  if (
    depth < maxDepth &&
    typeof value === 'object' &&
    [Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null)
  ) {
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, jsonAt(inner, path, depth + 1)]));
  }
  throw newSchemaError(path, 'has a default, an example or a rule that is not JSON');
}
