import { largeTurn } from '#pkg/apimachinery/index';

export interface LargeRead {
  owner: string | undefined;
  /** Of bodies, about so many. */
  bytes: number;
}

/**
 * Reads of large bodies under way at a time, fewer than there are connections: small ones never wait for a connection
 * that takes megabytes, and what arrives of several at once would hold the event loop.
 */
export class LargeReads {
  readonly #limit: number;
  /** By owner, in the order in which they have their turns. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #running = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** One owner's in the order in which they came; owners take turns. */
  async run<T>({ owner = '', bytes }: LargeRead, read: () => Promise<T>): Promise<T> {
    if (this.#running < this.#limit) this.#running += 1;
    else await this.#turnOf(owner);
    try {
      await largeTurn(bytes);
      return await read();
    } finally {
      // Whoever is next takes over this one's place.
      const next = this.#next();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  #turnOf(owner: string): Promise<void> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(owner);
      if (waiting === undefined) this.#waiting.set(owner, [resolve]);
      else waiting.push(resolve);
    });
  }

  #next(): (() => void) | undefined {
    for (const [owner, waiting] of this.#waiting) {
      const next = waiting.shift();
      // Behind the other owners.
      this.#waiting.delete(owner);
      if (waiting.length > 0) this.#waiting.set(owner, waiting);
      return next;
    }
    return undefined;
  }
}
