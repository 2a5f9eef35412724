import { maxJsonValues, StatusError, type JsonSchema } from '#pkg/apimachinery/index';
import { countValues } from '../json-value.ts';

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
