/**
 * Rate limit of log lines: a burst, and a number of lines a second. Reports how many lines were dropped with the next
 * line that passes.
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

  /** Undefined if the line must be dropped; otherwise how many were dropped since the last line that passed. */
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

/** The budget of one plugin for each of its output streams. */
export const lineRate = { atOnce: 500, perSecond: 100 } as const;
