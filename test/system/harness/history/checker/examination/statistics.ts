/** Counts the checks, so that a rule without any is visible. */
export class Statistics {
  readonly #counts = new Map<string, number>();

  add(what: string, count = 1): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + count);
  }

  max(what: string, value: number): void {
    this.#counts.set(what, Math.max(this.#counts.get(what) ?? 0, value));
  }

  /** Sorted by name. */
  toObject(): Record<string, number> {
    return Object.fromEntries([...this.#counts].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }
}
