import type { ServerResponse } from 'node:http';
import { isAnswered } from '../answer/respond.ts';

export interface ConcurrencyLimiterOptions {
  /** How many may be in at a time. */
  limit: number;
  /** How long one may wait outside. Milliseconds; 0: nobody waits. */
  maxWaitMs: number;
  /** How many may wait outside. Default 10 000. */
  maxWaiting?: number;
}

interface Waiting {
  response: ServerResponse;
  /** By `performance.now()`; earlier than it came here where it had waited elsewhere. */
  since: number;
  isSettled: boolean;
  settle: (isIn: boolean) => void;
}

/**
 * Where the oldest has waited longer than this, work is not keeping up: then the newest goes first, who has the best
 * chance to be served in time. Milliseconds.
 */
const standingQueueMs = 50;

/**
 * Lets a limited number in at a time; who finds it full waits outside, and is refused when that takes too long.
 *
 * First come, first served, as long as nobody waits long; then last come, first served: under a load that stays too
 * high the first in line would each be served just too late. Waiting costs no work, and a refusal costs little but not
 * nothing: since a client of HTTP/1.1 waits with its connection, no more than (number of connections) / maxWaitMs are
 * refused in a time, however many requests clients would like to send. Source: "Fail at Scale", ACM Queue 13(8)
 * (adaptive LIFO, controlled delay); Kubernetes' API priority and fairness (a queue before a refusal).
 */
export class ConcurrencyLimiter {
  private readonly options: Required<ConcurrencyLimiterOptions>;
  private inside = 0;
  private outside = 0;
  /** From `first` on in the order of `since`; who left stays in it, settled, until its turn. */
  private queue: Waiting[] = [];
  private first = 0;
  /** Who was in before, in the order of their return. */
  private returning: Waiting[] = [];
  private timer: NodeJS.Timeout | undefined;
  private expiresAt = Infinity;

  constructor({ maxWaiting = 10_000, ...options }: ConcurrencyLimiterOptions) {
    this.options = { maxWaiting, ...options };
  }

  get running(): number {
    return this.inside;
  }

  get waiting(): number {
    return this.outside;
  }

  get isFull(): boolean {
    return this.inside >= this.options.limit;
  }

  /**
   * True: come in. False: there is no room, not even outside. A promise says it when there is room, or was none in
   * time, or `response` is closed meanwhile. Who came in must `leave`. `waitedMs`: elsewhere before.
   */
  enter(response: ServerResponse, waitedMs = 0): boolean | Promise<boolean> {
    if (!this.isFull) {
      this.inside += 1;
      return true;
    }
    const { maxWaitMs, maxWaiting } = this.options;
    if (waitedMs >= maxWaitMs || this.outside >= maxWaiting || isAnswered(response)) return false;
    return this.waitAs(
      (one) => {
        this.insert(one);
        this.arm(one.since + maxWaitMs);
      },
      response,
      waitedMs,
    );
  }

  /** The same for who was in, left and comes back: before all others, and with the whole time to wait. */
  reenter(response: ServerResponse): boolean | Promise<boolean> {
    if (!this.isFull) return this.enter(response);
    if (isAnswered(response)) return false;
    return this.waitAs(
      (one) => {
        this.returning.push(one);
        setTimeout(() => one.settle(false), this.options.maxWaitMs).unref();
      },
      response,
      0,
    );
  }

  leave(): void {
    this.inside -= 1;
    while (this.returning.length > 0 && !this.isFull) this.admit(this.returning.shift()!);
    for (let next = this.oldest(); next !== undefined && !this.isFull; next = this.oldest()) {
      if (performance.now() - next.since > standingQueueMs) next = this.queue.pop()!;
      else this.first += 1;
      this.admit(next);
    }
  }

  private admit(one: Waiting): void {
    if (one.isSettled) return;
    const isIn = !isAnswered(one.response);
    if (isIn) this.inside += 1;
    one.settle(isIn);
  }

  private waitAs(queue: (one: Waiting) => void, response: ServerResponse, waitedMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const onClose = (): void => one.settle(false);
      const one: Waiting = {
        response,
        since: performance.now() - waitedMs,
        isSettled: false,
        settle: (isIn) => {
          if (one.isSettled) return;
          one.isSettled = true;
          this.outside -= 1;
          response.off('close', onClose);
          resolve(isIn);
        },
      };
      response.once('close', onClose);
      this.outside += 1;
      queue(one);
    });
  }

  /** Hardly ever far from the end: only who has waited elsewhere goes before others. */
  private insert(one: Waiting): void {
    let at = this.queue.length;
    while (at > this.first && this.queue[at - 1]!.since > one.since) at -= 1;
    this.queue.splice(at, 0, one);
  }

  /** Of those who still wait. */
  private oldest(): Waiting | undefined {
    while (this.queue[this.first]?.isSettled === true) this.first += 1;
    // Shifting one by one would move the whole array each time.
    if (this.first > 0 && (this.first === this.queue.length || this.first > 1024)) {
      this.queue = this.queue.slice(this.first);
      this.first = 0;
    }
    return this.queue[this.first];
  }

  /** One timer serves all: the oldest is the first to have waited too long. */
  private arm(at: number): void {
    if (at >= this.expiresAt) return;
    clearTimeout(this.timer);
    this.expiresAt = at;
    this.timer = setTimeout(() => this.expire(), Math.max(1, at - performance.now())).unref();
  }

  private expire(): void {
    this.expiresAt = Infinity;
    for (let next = this.oldest(); next !== undefined; next = this.oldest()) {
      const at = next.since + this.options.maxWaitMs;
      if (at > performance.now()) return this.arm(at);
      next.settle(false);
    }
  }
}
