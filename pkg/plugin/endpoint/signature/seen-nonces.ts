/** Maximum number of nonces of one period. */
const maxKept = 200_000;

/** Remembers each nonce for at least `periodMs`, and less than three times as long, in bounded memory. */
export class SeenNonces {
  readonly #periodMs: number;
  readonly #maxKept: number;
  #began = -Infinity;
  #current = new Set<string>();
  #previous = new Set<string>();

  constructor({ periodMs, max = maxKept }: { periodMs: number; max?: number }) {
    this.#periodMs = periodMs;
    this.#maxKept = max;
  }

  /** `full` if it could not remember this one without forgetting another: do not accept it as new. */
  add(nonce: string, now: number): 'new' | 'seen' | 'full' {
    const age = now - this.#began;
    if (age >= this.#periodMs || age < 0) {
      // After two periods without a call all older nonces have expired.
      this.#previous = age < 2 * this.#periodMs ? this.#current : new Set();
      this.#current = new Set();
      this.#began = now;
    }
    if (this.#current.has(nonce) || this.#previous.has(nonce)) return 'seen';
    if (this.#current.size >= this.#maxKept) return 'full';
    this.#current.add(nonce);
    return 'new';
  }
}
