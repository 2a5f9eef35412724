import type { Ajv } from 'ajv';

/** The check of one value would take too long. */
export class TooMuchWork extends Error {}

const keyword = 'svcWork';
const { isArray } = Array;
const { keys } = Object;

/**
 * Limits the work of one check, in steps of about 40 ns. A schema that is applied to a value costs one step for each of
 * its rules and parts; matching a pattern costs steps for each character. Recursive schemas and nested choices can be
 * applied any number of times to a small value.
 */
export class CheckBudget {
  #left = 0;

  begin(steps: number): void {
    this.#left = steps;
  }

  /** @throws TooMuchWork */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new TooMuchWork();
  }

  /** Charges each application of a schema that this Ajv compiles from now on. */
  watch(ajv: Ajv): void {
    ajv.addKeyword({
      keyword,
      before: '$ref',
      allowUndefined: true,
      errors: false,
      compile: (_none, schema) => {
        const rules = sizeOf(schema);
        return (value: unknown) => {
          this.spend(rules + partsOf(value));
          return true;
        };
      },
    });
    // No schema contains this keyword, and all schemas use it: it is registered as implementing every other keyword.
    Object.assign(ajv.getKeyword(keyword), { implements: Object.keys(ajv.RULES.all) });
  }
}

/** Ajv keeps each failed alternative of a `oneOf` until all are tried. */
const stepsOfOneOf = 200;

/** The work for any value: alternatives and names among its rules. */
function sizeOf(schema: Readonly<Record<string, unknown>>): number {
  const { oneOf } = schema;
  let size = 1 + (isArray(oneOf) ? stepsOfOneOf * oneOf.length : 0);
  for (const rule of Object.values(schema))
    if (typeof rule === 'object' && rule !== null) size += keys(rule).length / 4;
  return size;
}

function partsOf(value: unknown): number {
  if (typeof value === 'string') return value.length / 8;
  if (typeof value !== 'object' || value === null) return 0;
  return (isArray(value) ? value : keys(value)).length / 4;
}
