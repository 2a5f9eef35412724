import { largeTurn } from '#pkg/apimachinery/index';

/** Reads of large bodies under way at a time, fewer than there are connections: small ones never wait for a connection that takes megabytes. */
export class LargeReads {
  readonly #limit: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** In the order in which they came. */
  async run<T>(read: () => Promise<T>): Promise<T> {
    if (this.#running < this.#limit) this.#running += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      await largeTurn();
      return await read();
    } finally {
      // Whoever is next takes over this one's place.
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }
}
