import { createHash } from 'node:crypto';
import { isJsonObject, type JsonObject, type JsonSchema, type JsonValue } from '#pkg/apimachinery/index';
import { canonicalJson } from './json-value.ts';

/** Keywords for people. A field may have one of these names: only keywords are left out, not fields. */
const DOCUMENTATION: ReadonlySet<string> = new Set(['description', 'title', 'example', 'externalDocs', '$schema', 'id']);

/**
 * Hash of everything in the schema that decides pruning, defaulting and validation: SHA-256, 64 hex digits.
 *
 * Equal fingerprints mean that an object accepted under one schema is stored the same under the other. Texts for people are
 * left out, the order of keys does not matter.
 */
export function schemaFingerprint(schema: JsonSchema): string {
  // Interfaces have no index signature; this one is JSON all the same.
  return createHash('sha256').update(canonicalJson(essential(schema as JsonObject))).digest('hex');
}

function essential(schema: JsonObject): JsonObject {
  const kept: [string, JsonValue][] = [];
  for (const [keyword, value] of Object.entries(schema)) {
    if (!DOCUMENTATION.has(keyword) && value !== undefined && value !== null) kept.push([keyword, essentialValue(keyword, value)]);
  }
  return Object.fromEntries(kept);
}

function essentialValue(keyword: string, value: JsonValue): JsonValue {
  switch (keyword) {
    case 'properties':
      return isJsonObject(value) ? Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, part(schema)])) : value;
    case 'items':
    case 'additionalProperties':
    case 'not':
      return part(value);
    case 'allOf':
    case 'anyOf':
    case 'oneOf':
      return Array.isArray(value) ? value.map(part) : value;
    default:
      return value;
  }
}

function part(value: JsonValue): JsonValue {
  return isJsonObject(value) ? essential(value) : value;
}
