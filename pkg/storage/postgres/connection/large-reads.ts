import { largeTurn } from '#pkg/apimachinery/index';

export interface LargeRead {
  owner: string | undefined;
  /** Approximate bytes of the bodies. */
  bytes: number;
}

/**
 * Limits concurrent reads of large bodies to fewer than there are connections: small reads never wait for a connection
 * that transfers megabytes, and several large results at once would block the event loop.
 */
export class LargeReads {
  readonly #limit: number;
  /** Waiting reads by owner, in the order of the owners' turns. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #running = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Runs an owner's reads in their order of arrival; owners take turns. */
  async run<T>({ owner = '', bytes }: LargeRead, read: () => Promise<T>): Promise<T> {
    if (this.#running < this.#limit) this.#running += 1;
    else await this.#turnOf(owner);
    try {
      await largeTurn(bytes);
      return await read();
    } finally {
      // The next waiting read takes over this slot.
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
      // Move the owner behind the others.
      this.#waiting.delete(owner);
      if (waiting.length > 0) this.#waiting.set(owner, waiting);
      return next;
    }
    return undefined;
  }
}
