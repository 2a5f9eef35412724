import type { JsonValue } from '#pkg/apimachinery/index';

/**
 * Values that one validation may check against parts of combinations: two parts on each of a hundred thousand items.
 * All of it takes a few hundred milliseconds.
 */
const maxVisits = 200_000;

/** Characters that a node's rules process in the time of one visit. */
const charactersPerVisit = 64;

/**
 * Counts the work of combinations in one validation: `anyOf` of five hundred parts makes fifty million visits of a
 * hundred thousand items.
 */
export class VisitMeter {
  readonly refusal =
    'takes too much work to be checked against the combinations (allOf, anyOf, oneOf, not) of its schema';
  #visits = 0;

  get exhausted(): boolean {
    return this.#visits > maxVisits;
  }

  /** Members count with the value that contains them, even if they are not visited. */
  count(value: JsonValue): void {
    if (typeof value === 'string') this.#visits += 1 + Math.floor(value.length / charactersPerVisit);
    else if (Array.isArray(value)) this.#visits += 1 + value.length;
    else if (typeof value === 'object' && value !== null) this.#visits += 1 + Object.keys(value).length;
    else this.#visits += 1;
  }
}
