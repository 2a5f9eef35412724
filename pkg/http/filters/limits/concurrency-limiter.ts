import type { ServerResponse } from 'node:http';
import { FairQueue, type FairQueueOptions } from './fair-queue.ts';

export interface ConcurrencyLimiterOptions extends FairQueueOptions {
  /** How many requests may hold a slot at a time; a function is called for each request. */
  limit: number | (() => number);
}

/** What a request takes a slot from. */
export interface SlotLimiter {
  /**
   * Answers true if the request has a slot, false if it is refused, and a promise of either if it has to wait. A wait
   * ends with false after the limiter's time, or when `response` is closed. A request with a slot must call `leave`.
   * `waitedMs`: how long it has waited at other limiters. `flow`: the flow that it waits in; see `FairQueue`.
   */
  enter(response: ServerResponse, waitedMs?: number, flow?: string): boolean | Promise<boolean>;
  /** Asks for a slot again after `leave`: ahead of the other requests of its flow, and with the full time to wait. */
  reenter(response: ServerResponse, flow?: string): boolean | Promise<boolean>;
  leave(): void;
}

/** Limits how many requests run at a time. A request that finds no free slot waits in a `FairQueue`. */
export class ConcurrencyLimiter implements SlotLimiter {
  readonly #limit: () => number;
  readonly #queue: FairQueue;
  #running = 0;

  constructor({ limit, ...options }: ConcurrencyLimiterOptions) {
    this.#limit = typeof limit === 'number' ? () => limit : limit;
    this.#queue = new FairQueue(options);
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#queue.waiting;
  }

  enter(response: ServerResponse, waitedMs?: number, flow?: string): boolean | Promise<boolean> {
    return this.#take() || this.#queue.wait(response, { waitedMs, flow });
  }

  reenter(response: ServerResponse, flow?: string): boolean | Promise<boolean> {
    return this.#take() || this.#queue.wait(response, { flow, isReturning: true });
  }

  leave(): void {
    this.#running -= 1;
    while (this.#running < this.#limit() && this.#queue.admitNext()) this.#running += 1;
  }

  #take(): boolean {
    if (this.#running >= this.#limit()) return false;
    this.#running += 1;
    return true;
  }
}

export interface KeyedLimitersOptions extends FairQueueOptions {
  /** How many requests of a key may hold a slot at a time; a function is called for each request. */
  limit: number | ((key: string) => number);
}

/** One limiter for each key, kept while a request holds a slot of it or waits for one. */
export class KeyedConcurrencyLimiters {
  readonly #options: KeyedLimitersOptions;
  readonly #limiters = new Map<string, ConcurrencyLimiter>();

  constructor(options: KeyedLimitersOptions) {
    this.#options = options;
  }

  /** Keys with a limiter. */
  get size(): number {
    return this.#limiters.size;
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
    const known = this.#limiters.get(key);
    if (known !== undefined) return known;
    const { limit } = this.#options;
    const limiter = new ConcurrencyLimiter({
      ...this.#options,
      limit: typeof limit === 'number' ? limit : () => limit(key),
    });
    this.#limiters.set(key, limiter);
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
