/**
 * How many lines may be logged: so many at once, and so many a second in the long run. Says how many were left out,
 * once one may pass again.
 */
export class LineBudget {
  readonly #atOnce: number;
  readonly #perSecond: number;
  #left: number;
  #dropped = 0;
  #at: number;

  constructor({ atOnce, perSecond, now }: { atOnce: number; perSecond: number; now: number }) {
    this.#atOnce = atOnce;
    this.#perSecond = perSecond;
    this.#left = atOnce;
    this.#at = now;
  }

  /** Undefined for a line that is left out; else how many were, since the last that was not. */
  take(now: number): number | undefined {
    this.#left = Math.min(this.#atOnce, this.#left + ((now - this.#at) / 1000) * this.#perSecond);
    this.#at = now;
    if (this.#left < 1) {
      this.#dropped += 1;
      return undefined;
    }
    this.#left -= 1;
    const dropped = this.#dropped;
    this.#dropped = 0;
    return dropped;
  }
}

/** Of one plugin, for each way its words come. */
export const lineRate = { atOnce: 500, perSecond: 100 } as const;
