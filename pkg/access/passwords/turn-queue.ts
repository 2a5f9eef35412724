/** More passwords wait to be hashed than can be answered in time: 429. */
export class TooManyPasswordsError extends Error {
  /** For Retry-After. */
  readonly retryAfterSeconds = 1;

  constructor() {
    super('Too many passwords are being checked.');
    this.name = 'TooManyPasswordsError';
  }
}

/** Lets few pieces of work run at a time and few more wait, first come, first served. */
export class TurnQueue {
  readonly #maxRunning: number;
  readonly #maxWaiting: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor({ maxRunning, maxWaiting }: { maxRunning: number; maxWaiting: number }) {
    this.#maxRunning = maxRunning;
    this.#maxWaiting = maxWaiting;
  }

  /** @throws TooManyPasswordsError at once where too many wait */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#maxRunning) this.#running += 1;
    else await this.#turn();
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      // The turn is handed on, so that nobody gets in between.
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  #turn(): Promise<void> {
    if (this.#waiting.length >= this.#maxWaiting) throw new TooManyPasswordsError();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
