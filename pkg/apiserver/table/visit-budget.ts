import type { JsonObject } from '#pkg/apimachinery/index';

/** Bounds the values that are looked at for the cells of one row: a path such as `..a..b` could take long. */
export class VisitBudget {
  #left: number;

  constructor(visits: number) {
    this.#left = visits;
  }

  /** Is the budget not used up after these visits? */
  spend(visits = 1): boolean {
    this.#left -= visits;
    return this.#left >= 0;
  }

  /** The names of an object's values, each a visit; none when the budget is used up. */
  namesOf(object: JsonObject): readonly string[] {
    const names = Object.keys(object);
    return this.spend(names.length) ? names : [];
  }
}
