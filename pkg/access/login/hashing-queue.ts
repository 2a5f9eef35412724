import { AccessError, newThrottled } from '../http/access-error.ts';

/** 429: more passwords wait to be hashed than can be answered in time. */
export class TooManyPasswordsError extends AccessError {
  constructor() {
    const { status, body, headers } = newThrottled(1);
    super(status, body, headers);
    this.name = 'TooManyPasswordsError';
  }
}

/** Limits the running and the waiting tasks; first come, first served. */
export class HashingQueue {
  readonly #maxRunning: number;
  readonly #maxWaiting: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor({ maxRunning, maxWaiting }: { maxRunning: number; maxWaiting: number }) {
    this.#maxRunning = maxRunning;
    this.#maxWaiting = maxWaiting;
  }

  /** @throws TooManyPasswordsError at once if too many wait */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#maxRunning) this.#running += 1;
    else await this.#waitForSlot();
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      // The slot passes directly to the next task, so that no new one takes it.
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  #waitForSlot(): Promise<void> {
    if (this.#waiting.length >= this.#maxWaiting) throw new TooManyPasswordsError();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
