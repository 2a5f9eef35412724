import type { Ajv } from 'ajv';

/** The check of one value would take too long. */
export class TooMuchWork extends Error {}

const keyword = 'svcWork';
const { isArray } = Array;
const { keys } = Object;

/**
 * How much work one check may be, in steps of some 40 ns: a schema that is applied to a value, once for each of its
 * rules and parts; a character that is matched. Schemas that hold themselves, and choices within choices, are applied
 * any number of times to a small value.
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

  /** Each application of a schema that this Ajv compiles from now on is paid for first. */
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
    // Not in any schema, and used by all: as a keyword that stands for every other one.
    Object.assign(ajv.getKeyword(keyword), { implements: Object.keys(ajv.RULES.all) });
  }
}

/** Each alternative of a `oneOf` that does not fit is kept until all are tried. */
const stepsOfOneOf = 200;

/** What is looked at in any value: alternatives and names among its rules. */
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
