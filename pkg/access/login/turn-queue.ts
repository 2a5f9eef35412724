import { AccessError, newThrottled } from '../http/access-error.ts';

/** More passwords wait to be hashed than can be answered in time: 429. */
export class TooManyPasswordsError extends AccessError {
  constructor() {
    const { status, body, headers } = newThrottled(1);
    super(status, body, headers);
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
