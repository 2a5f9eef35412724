import { maxJsonValues, StatusError, type JsonSchema } from '#pkg/apimachinery/index';
import { countValues } from './json-value.ts';

/** In bytes of JSON: what the defaults of a schema may add to one object. */
export const maxDefaultsSize = 1 << 20;

export interface DefaultBudgetOptions {
  /** Values and keys. Default 100 000, `maxJsonValues`. */
  values?: number;
  /** Bytes of JSON. Default 1 MiB. */
  size?: number;
}

/** The defaults of a schema multiply an object beyond what is allowed; the object is half done then. 413. */
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
 * What defaults may still add to one object: a few bytes of a body can ask for a large default each, as `[{}, {}, {}]`
 * does.
 */
export class DefaultBudget {
  #values: number;
  #size: number;

  constructor({ values = maxJsonValues, size = maxDefaultsSize }: DefaultBudgetOptions = {}) {
    this.#values = values;
    this.#size = size;
  }

  /**
   * To be asked before the default is copied; `key` where it comes under one that was not there. @throws
   * DefaultsTooLarge
   */
  spend(schema: JsonSchema, key?: string): void {
    const cost = costOf(schema);
    this.#values -= cost.values + (key === undefined ? 0 : 1);
    this.#size -= cost.size + (key === undefined ? 0 : key.length + 4);
    if (this.#values < 0 || this.#size < 0) throw new DefaultsTooLarge();
  }
}

/** Schemas do not change, and a default is filled in many times. */
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
