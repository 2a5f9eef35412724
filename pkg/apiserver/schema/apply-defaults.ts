import { isJsonObject, type JsonObject, type JsonSchema, type JsonValue } from '#pkg/apimachinery/index';
import { childSchema, isEmbeddedResource } from './child-schema.ts';
import { cloneJson } from './json-value.ts';
import { objectMetaSchema } from './object-meta-schema.ts';

/**
 * Fills in defaults, in place, wherever the parent exists; a null that is not allowed becomes the default or goes.
 *
 * A null item of a list has nowhere to go: it becomes the items' default, or stays for validation to refuse.
 * The root's metadata is not touched; a default of null is none. Source: apiextensions-apiserver, structural defaulting.
 */
export function applyResourceDefaults(object: JsonObject, schema: JsonSchema): void {
  defaultObject(object, schema, true);
}

/** The same for a value that is not a resource of its own. */
export function applyValueDefaults(value: JsonValue, schema: JsonSchema): void {
  if (isJsonObject(value)) {
    defaultObject(value, schema, false);
    return;
  }
  const items = schema.items;
  if (!Array.isArray(value) || !items) return;
  for (const [index, item] of value.entries()) {
    const filled = item === null && !items.nullable ? (defaultOf(items) ?? null) : item;
    value[index] = filled;
    applyValueDefaults(filled, items);
  }
}

function defaultObject(object: JsonObject, schema: JsonSchema, root: boolean): void {
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    if (Object.hasOwn(object, key) || key === '__proto__' || (root && key === 'metadata')) continue;
    const filled = defaultOf(property);
    if (filled !== undefined) object[key] = filled;
  }
  for (const [key, value] of Object.entries(object)) {
    if (root && key === 'metadata') continue;
    if (!root && key === 'metadata' && isEmbeddedResource(schema)) applyValueDefaults(value, objectMetaSchema);
    const child = childSchema(schema, key);
    if (child !== undefined && child !== 'any') defaultField(object, key, child);
  }
}

function defaultField(object: JsonObject, key: string, schema: JsonSchema): void {
  const value = object[key];
  const filled = value === null && !schema.nullable ? defaultOf(schema) : value;
  if (filled === undefined) {
    delete object[key];
  } else {
    object[key] = filled;
    applyValueDefaults(filled, schema);
  }
}

function defaultOf(schema: JsonSchema): JsonValue | undefined {
  return schema.default === undefined || schema.default === null ? undefined : cloneJson(schema.default);
}
