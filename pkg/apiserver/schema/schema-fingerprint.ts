import { createHash } from 'node:crypto';
import { isJsonObject, type JsonObject, type JsonSchema, type JsonValue } from '#pkg/apimachinery/index';
import { canonicalJson } from './json-value.ts';

/** Documentation keywords. A field may have one of these names: only keywords are left out, not fields. */
const documentationKeywords: ReadonlySet<string> = new Set([
  'description',
  'title',
  'example',
  'externalDocs',
  '$schema',
  'id',
]);

/**
 * Hash of everything in the schema that affects pruning, defaulting and validation: SHA-256, 64 hex digits.
 *
 * Equal fingerprints mean that an object accepted under one schema is stored the same under the other. Documentation is
 * left out; the order of keys does not matter.
 */
export function schemaFingerprint(schema: JsonSchema): string {
  // Interfaces have no index signature, but this one is JSON.
  return createHash('sha256')
    .update(withoutDocumentation(schema as JsonObject))
    .digest('hex');
}

/**
 * The canonical JSON of the relevant keywords; built in one pass, since a schema may have tens of thousands of parts.
 */
function withoutDocumentation(schema: JsonObject): string {
  return members(schema, (keyword, value) =>
    documentationKeywords.has(keyword) || value === undefined || value === null
      ? undefined
      : essentialValue(keyword, value),
  );
}

function essentialValue(keyword: string, value: JsonValue): string {
  switch (keyword) {
    case 'properties':
      return isJsonObject(value) ? members(value, (_name, schema) => part(schema)) : canonicalJson(value);
    case 'items':
    case 'additionalProperties':
    case 'not':
      return part(value);
    case 'allOf':
    case 'anyOf':
    case 'oneOf':
      return Array.isArray(value) ? `[${value.map(part).join(',')}]` : canonicalJson(value);
    default:
      return canonicalJson(value);
  }
}

function part(value: JsonValue | undefined): string {
  return isJsonObject(value) ? withoutDocumentation(value) : canonicalJson(value);
}

/** A JSON object with sorted keys, without members whose text is undefined. */
function members(
  object: JsonObject,
  textOf: (key: string, value: JsonValue | undefined) => string | undefined,
): string {
  let all = '';
  for (const key of Object.keys(object).toSorted()) {
    const text = textOf(key, object[key]);
    if (text !== undefined) all += `${all === '' ? '' : ','}${JSON.stringify(key)}:${text}`;
  }
  return `{${all}}`;
}
