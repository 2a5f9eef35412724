import { isJsonObject, type JsonObject, type JsonSchema, type JsonValue } from '#pkg/apimachinery/index';
import { childSchema, isEmbeddedResource } from '../child-schema.ts';
import { DefaultBudget } from './default-budget.ts';
import { cloneJson } from '../json-value.ts';
import { objectMetaSchema } from '../object-meta-schema.ts';

/**
 * Sets defaults in place, if the parent exists; a null that is not allowed is replaced by the default, or removed.
 *
 * A null item of a list cannot be removed: it is replaced by the items' default, or stays for validation to refuse. The
 * root's metadata is not changed; a default of null is ignored. Source: apiextensions-apiserver, structural defaulting.
 * @throws DefaultsTooLarge above the budget; the object is then only partly changed.
 */
export function applyResourceDefaults(object: JsonObject, schema: JsonSchema, budget = new DefaultBudget()): void {
  defaultObject(object, schema, { root: true, budget });
}

/** The same for a value that is not a resource itself. */
export function applyValueDefaults(value: JsonValue, schema: JsonSchema, budget = new DefaultBudget()): void {
  if (isJsonObject(value)) {
    defaultObject(value, schema, { root: false, budget });
    return;
  }
  const items = schema.items;
  if (!Array.isArray(value) || !items) return;
  for (const [index, item] of value.entries()) {
    const filled = item === null && !items.nullable ? (defaultOf(items, budget) ?? null) : item;
    value[index] = filled;
    applyValueDefaults(filled, items, budget);
  }
}

function defaultObject(
  object: JsonObject,
  schema: JsonSchema,
  { root, budget }: { root: boolean; budget: DefaultBudget },
): void {
  for (const key of Object.keys(schema.properties ?? {})) {
    if (Object.hasOwn(object, key) || key === '__proto__' || (root && key === 'metadata')) continue;
    const filled = defaultOf(schema.properties![key]!, budget, key);
    if (filled !== undefined) object[key] = filled;
  }
  for (const key of Object.keys(object)) {
    if (root && key === 'metadata') continue;
    if (!root && key === 'metadata' && isEmbeddedResource(schema))
      applyValueDefaults(object[key]!, objectMetaSchema, budget);
    const child = childSchema(schema, key);
    if (child !== undefined && child !== 'any') defaultField(object, key, child, budget);
  }
}

function defaultField(object: JsonObject, key: string, schema: JsonSchema, budget: DefaultBudget): void {
  const value = object[key];
  const filled = value === null && !schema.nullable ? defaultOf(schema, budget) : value;
  if (filled === undefined) {
    delete object[key];
  } else {
    if (filled !== value) object[key] = filled;
    applyValueDefaults(filled, schema, budget);
  }
}

function defaultOf(schema: JsonSchema, budget: DefaultBudget, key?: string): JsonValue | undefined {
  if (schema.default === undefined || schema.default === null) return undefined;
  budget.spend(schema, key);
  return cloneJson(schema.default);
}
