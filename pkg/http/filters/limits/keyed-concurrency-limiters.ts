import type { ServerResponse } from 'node:http';
import { ConcurrencyLimiter, type ConcurrencyLimiterOptions } from './concurrency-limiter.ts';

/** What a request takes a slot from: a limiter, or the limiter of one key. */
export type SlotLimiter = Pick<ConcurrencyLimiter, 'enter' | 'reenter' | 'leave'>;

/** One limiter for each key, kept while a request holds a slot of it or waits for one. */
export class KeyedConcurrencyLimiters {
  readonly #options: ConcurrencyLimiterOptions;
  readonly #limiters = new Map<string, ConcurrencyLimiter>();

  constructor(options: ConcurrencyLimiterOptions) {
    this.#options = options;
  }

  get waiting(): number {
    let waiting = 0;
    for (const limiter of this.#limiters.values()) waiting += limiter.waiting;
    return waiting;
  }

  of(key: string): SlotLimiter {
    return new KeyedLimiter(key, this);
  }

  limiter(key: string): ConcurrencyLimiter {
    let limiter = this.#limiters.get(key);
    if (limiter === undefined) this.#limiters.set(key, (limiter = new ConcurrencyLimiter(this.#options)));
    return limiter;
  }

  forget(key: string): void {
    const limiter = this.#limiters.get(key);
    if (limiter !== undefined && limiter.running + limiter.waiting === 0) this.#limiters.delete(key);
  }
}

class KeyedLimiter implements SlotLimiter {
  readonly #key: string;
  readonly #limiters: KeyedConcurrencyLimiters;

  constructor(key: string, limiters: KeyedConcurrencyLimiters) {
    this.#key = key;
    this.#limiters = limiters;
  }

  enter(response: ServerResponse, waitedMs?: number): boolean | Promise<boolean> {
    return this.#orForget(this.#limiters.limiter(this.#key).enter(response, waitedMs));
  }

  reenter(response: ServerResponse): boolean | Promise<boolean> {
    return this.#orForget(this.#limiters.limiter(this.#key).reenter(response));
  }

  leave(): void {
    this.#limiters.limiter(this.#key).leave();
    this.#limiters.forget(this.#key);
  }

  #orForget(isIn: boolean | Promise<boolean>): boolean | Promise<boolean> {
    if (isIn === true) return true;
    if (isIn !== false) return isIn.then((later) => this.#orForget(later));
    this.#limiters.forget(this.#key);
    return false;
  }
}
