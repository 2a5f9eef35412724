import type { ServerResponse } from 'node:http';
import { isAnswered } from '../../answer/respond.ts';

export interface ConcurrencyLimiterOptions {
  /** How many requests may hold a slot at a time. */
  limit: number;
  /** How long a request may wait for a slot. Milliseconds; 0: requests never wait. */
  maxWaitMs: number;
  /** How many requests may wait at a time. Default 10 000. */
  maxWaiting?: number;
}

interface Waiting {
  response: ServerResponse;
  /** Start of the wait by `performance.now()`, time that the request waited at other limiters included. */
  since: number;
  isSettled: boolean;
  settle: (isIn: boolean) => void;
}

/**
 * If the oldest request has waited longer than this, the server is overloaded. The newest request then goes first,
 * because it has the best chance to be served in time. Milliseconds.
 */
const standingQueueMs = 50;

/**
 * Limits how many requests run at a time. A request that finds no free slot waits, and is refused after `maxWaitMs`.
 *
 * The queue is FIFO while waits are short and LIFO once they are long: under permanent overload a FIFO queue would
 * serve every request just too late. Waiting also limits the rate of refusals: a client of HTTP/1.1 sends nothing else
 * on the connection that waits, so at most (number of connections) / maxWaitMs requests are refused in a given time.
 * Source: "Fail at Scale", ACM Queue 13(8) (adaptive LIFO, controlled delay); Kubernetes' API priority and fairness (a
 * queue before a refusal).
 */
export class ConcurrencyLimiter {
  readonly #options: Required<ConcurrencyLimiterOptions>;
  #inside = 0;
  #outside = 0;
  /** From index `first` on, ordered by `since`. Requests that gave up stay in it, settled, until they are reached. */
  #queue: Waiting[] = [];
  #first = 0;
  /** Requests that had a slot before, in the order in which they asked for one again. */
  #returning: Waiting[] = [];
  #timer: NodeJS.Timeout | undefined;
  #expiresAt = Infinity;

  constructor({ maxWaiting = 10_000, ...options }: ConcurrencyLimiterOptions) {
    this.#options = { maxWaiting, ...options };
  }

  get running(): number {
    return this.#inside;
  }

  get waiting(): number {
    return this.#outside;
  }

  get isFull(): boolean {
    return this.#inside >= this.#options.limit;
  }

  /**
   * Answers true if the request has a slot, false if it is refused, and a promise of either if it has to wait. A wait
   * ends with false after `maxWaitMs`, or when `response` is closed. A request with a slot must call `leave`.
   * `waitedMs`: how long it has waited at other limiters.
   */
  enter(response: ServerResponse, waitedMs = 0): boolean | Promise<boolean> {
    if (!this.isFull) {
      this.#inside += 1;
      return true;
    }
    const { maxWaitMs, maxWaiting } = this.#options;
    if (waitedMs >= maxWaitMs || this.#outside >= maxWaiting || isAnswered(response)) return false;
    return this.#waitAs(
      (one) => {
        this.#insert(one);
        this.#arm(one.since + maxWaitMs);
      },
      response,
      waitedMs,
    );
  }

  /** Asks for a slot again after `leave`: ahead of all other requests, and with the full time to wait. */
  reenter(response: ServerResponse): boolean | Promise<boolean> {
    if (!this.isFull) return this.enter(response);
    if (isAnswered(response)) return false;
    return this.#waitAs(
      (one) => {
        this.#returning.push(one);
        setTimeout(() => one.settle(false), this.#options.maxWaitMs).unref();
      },
      response,
      0,
    );
  }

  leave(): void {
    this.#inside -= 1;
    while (this.#returning.length > 0 && !this.isFull) this.#admit(this.#returning.shift()!);
    for (let next = this.#oldest(); next !== undefined && !this.isFull; next = this.#oldest()) {
      if (performance.now() - next.since > standingQueueMs) next = this.#queue.pop()!;
      else this.#first += 1;
      this.#admit(next);
    }
  }

  #admit(one: Waiting): void {
    if (one.isSettled) return;
    const isIn = !isAnswered(one.response);
    if (isIn) this.#inside += 1;
    one.settle(isIn);
  }

  #waitAs(queue: (one: Waiting) => void, response: ServerResponse, waitedMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const onClose = (): void => one.settle(false);
      const one: Waiting = {
        response,
        since: performance.now() - waitedMs,
        isSettled: false,
        settle: (isIn) => {
          if (one.isSettled) return;
          one.isSettled = true;
          this.#outside -= 1;
          response.off('close', onClose);
          resolve(isIn);
        },
      };
      response.once('close', onClose);
      this.#outside += 1;
      queue(one);
    });
  }

  /** Cheap: the position is near the end, since only a request that waited at another limiter overtakes others. */
  #insert(one: Waiting): void {
    let at = this.#queue.length;
    while (at > this.#first && this.#queue[at - 1]!.since > one.since) at -= 1;
    this.#queue.splice(at, 0, one);
  }

  /** The oldest request that still waits. */
  #oldest(): Waiting | undefined {
    while (this.#queue[this.#first]?.isSettled === true) this.#first += 1;
    // Shifting one by one would move the whole array each time.
    if (this.#first > 0 && (this.#first === this.#queue.length || this.#first > 1024)) {
      this.#queue = this.#queue.slice(this.#first);
      this.#first = 0;
    }
    return this.#queue[this.#first];
  }

  /** One timer is enough: the wait of the oldest request ends first. */
  #arm(at: number): void {
    if (at >= this.#expiresAt) return;
    clearTimeout(this.#timer);
    this.#expiresAt = at;
    this.#timer = setTimeout(() => this.#expire(), Math.max(1, at - performance.now())).unref();
  }

  #expire(): void {
    this.#expiresAt = Infinity;
    for (let next = this.#oldest(); next !== undefined; next = this.#oldest()) {
      const at = next.since + this.#options.maxWaitMs;
      if (at > performance.now()) return this.#arm(at);
      next.settle(false);
    }
  }
}

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
