import {
  isJsonObject,
  maxJsonValues,
  StatusError,
  type JsonObject,
  type JsonSchema,
  type JsonValue,
} from '#pkg/apimachinery/index';
import { childSchema, isEmbeddedResource } from './child-schema.ts';
import { cloneJson, countValues } from './json-value.ts';
import { objectMetaSchema } from './object-meta-schema.ts';

/**
 * Sets defaults in place, if the parent exists; a null that is not allowed is replaced by the default, or removed unless
 * `keepsNulls`.
 *
 * A null item of a list cannot be removed: it is replaced by the items' default, or stays for validation to refuse. The
 * root's metadata is not changed, that of an embedded resource is empty instead of null; a default of null is ignored. Source: apiextensions-apiserver, structural defaulting.
 * @throws DefaultsTooLarge above the budget; the object is then only partly changed.
 */
export function applyResourceDefaults(object: JsonObject, schema: JsonSchema, options: DefaultingOptions = {}): void {
  defaultObject(object, schema, { root: true, ...standardOptions(options) });
}

/** The same for a value that is not a resource itself. */
export function applyValueDefaults(value: JsonValue, schema: JsonSchema, options: DefaultingOptions = {}): void {
  defaultValue(value, schema, standardOptions(options));
}

export interface DefaultingOptions {
  /** Default: a standard budget. */
  budget?: DefaultBudget;
  /** A null that is not allowed and has no default stays if the field has a type: validation refuses it. Default false. */
  keepsNulls?: boolean;
}

function standardOptions({
  budget = new DefaultBudget(),
  keepsNulls = false,
}: DefaultingOptions): Required<DefaultingOptions> {
  return { budget, keepsNulls };
}

function defaultValue(value: JsonValue, schema: JsonSchema, options: Required<DefaultingOptions>): void {
  if (isJsonObject(value)) {
    defaultObject(value, schema, { root: false, ...options });
    return;
  }
  const items = schema.items;
  if (!Array.isArray(value) || !items) return;
  for (const [index, item] of value.entries()) {
    const filled = item === null && !items.nullable ? (defaultOf(items, options.budget) ?? null) : item;
    value[index] = filled;
    defaultValue(filled, items, options);
  }
}

function defaultObject(
  object: JsonObject,
  schema: JsonSchema,
  { root, ...options }: Required<DefaultingOptions> & { root: boolean },
): void {
  for (const key of Object.keys(schema.properties ?? {})) {
    if (Object.hasOwn(object, key) || key === '__proto__' || (root && key === 'metadata')) continue;
    const filled = defaultOf(schema.properties![key]!, options.budget, key);
    if (filled !== undefined) object[key] = filled;
  }
  for (const key of Object.keys(object)) {
    if (root && key === 'metadata') continue;
    if (!root && key === 'metadata' && isEmbeddedResource(schema)) {
      object[key] ??= {};
      defaultValue(object[key], objectMetaSchema, { ...options, keepsNulls: false });
    }
    const child = childSchema(schema, key);
    if (child !== undefined && child !== 'any') defaultField(object, key, child, options);
  }
}

function defaultField(object: JsonObject, key: string, schema: JsonSchema, options: Required<DefaultingOptions>): void {
  const value = object[key];
  const filled = value === null && !schema.nullable ? defaultOf(schema, options.budget) : value;
  if (filled !== undefined) {
    if (filled !== value) object[key] = filled;
    defaultValue(filled, schema, options);
  } else if (!options.keepsNulls || !hasType(schema)) {
    delete object[key];
  }
}

function hasType(schema: JsonSchema): boolean {
  return schema.type !== undefined || schema['x-kubernetes-int-or-string'] === true;
}

function defaultOf(schema: JsonSchema, budget: DefaultBudget, key?: string): JsonValue | undefined {
  if (schema.default === undefined || schema.default === null) return undefined;
  budget.spend(schema, key);
  return cloneJson(schema.default);
}

/** Bytes of JSON that the defaults of a schema may add to one object. */
export const maxDefaultsSize = 1 << 20;

export interface DefaultBudgetOptions {
  /** Values and keys. Default 100 000, `maxJsonValues`. */
  values?: number;
  /** Bytes of JSON. Default 1 MiB. */
  size?: number;
}

/** 413: the defaults of a schema make an object larger than allowed; the object is then only partly changed. */
export class DefaultsTooLarge extends StatusError {
  constructor() {
    super(
      413,
      'RequestEntityTooLarge',
      `the defaults of the schema make the object too large: they may add ${maxDefaultsSize} bytes, and the object may hold ${maxJsonValues} values and keys with them`,
    );
  }
}

/**
 * What defaults may still add to one object: a few bytes of a body, such as `[{}, {}, {}]`, can add a large default
 * each.
 */
export class DefaultBudget {
  #values: number;
  #size: number;

  constructor({ values = maxJsonValues, size = maxDefaultsSize }: DefaultBudgetOptions = {}) {
    this.#values = values;
    this.#size = size;
  }

  /** Call before copying a default; `key` if it is set under a new key. @throws DefaultsTooLarge */
  spend(schema: JsonSchema, key?: string): void {
    const cost = costOf(schema);
    this.#values -= cost.values + (key === undefined ? 0 : 1);
    this.#size -= cost.size + (key === undefined ? 0 : key.length + 4);
    if (this.#values < 0 || this.#size < 0) throw new DefaultsTooLarge();
  }
}

/** Schemas do not change, and a default is set many times. */
const costs = new WeakMap<JsonSchema, { values: number; size: number }>();

function costOf(schema: JsonSchema): { values: number; size: number } {
  let cost = costs.get(schema);
  if (cost === undefined) {
    const value = schema.default ?? null;
    cost = { values: countValues(value), size: Buffer.byteLength(JSON.stringify(value)) };
    costs.set(schema, cost);
  }
  return cost;
}
