import type { ServerResponse } from 'node:http';
import { isAnswered } from '../respond.ts';

export interface GateOptions {
  /** How many may be in at a time. */
  limit: number;
  /** How long one may wait outside. Milliseconds; 0: nobody waits. */
  maxWaitMs: number;
  /** How many may wait outside. Default 10 000. */
  maxWaiting?: number;
}

interface Waiting {
  response: ServerResponse;
  /** By `performance.now()`. */
  since: number;
  settle: (isIn: boolean) => void;
}

/** Where the oldest has waited longer than this, work is not keeping up: then the newest goes first, who has the best chance to be served in time. Milliseconds. */
const standingQueueMs = 50;

/**
 * Lets a limited number in at a time; who finds it full waits outside, and is refused when that takes too long.
 *
 * First come, first served, as long as nobody waits long; then last come, first served: under a load that stays too high the first in line would
 * each be served just too late. Waiting costs no work, and a refusal costs little but not nothing: since a client of HTTP/1.1 waits with its connection,
 * no more than (number of connections) / maxWaitMs are refused in a time, however many requests clients would like to send.
 * Source: "Fail at Scale", ACM Queue 13(8) (adaptive LIFO, controlled delay); Kubernetes' API priority and fairness (a queue before a refusal).
 */
export class Gate {
  private readonly options: Required<GateOptions>;
  private inside = 0;
  private queue: Waiting[] = [];
  private first = 0;
  private isArmed = false;

  constructor({ maxWaiting = 10_000, ...options }: GateOptions) {
    this.options = { maxWaiting, ...options };
  }

  get running(): number {
    return this.inside;
  }

  get waiting(): number {
    return this.queue.length - this.first;
  }

  get isFull(): boolean {
    return this.inside >= this.options.limit;
  }

  /**
   * True: come in. False: there is no room, not even outside. A promise says it when there is room, or was none in time, or `response` is closed meanwhile.
   * Who came in must `leave`. `waitedMs`: elsewhere before.
   */
  enter(response: ServerResponse, waitedMs = 0): boolean | Promise<boolean> {
    if (!this.isFull) {
      this.inside += 1;
      return true;
    }
    const { maxWaitMs, maxWaiting } = this.options;
    if (waitedMs >= maxWaitMs || this.waiting >= maxWaiting) return false;
    return new Promise((settle) => {
      this.queue.push({ response, since: performance.now() - waitedMs, settle });
      this.arm(maxWaitMs - waitedMs);
    });
  }

  leave(): void {
    this.inside -= 1;
    while (!this.isFull && this.waiting > 0) {
      const next = this.next();
      if (isAnswered(next.response)) {
        next.settle(false);
      } else {
        this.inside += 1;
        next.settle(true);
      }
    }
  }

  private next(): Waiting {
    const isStanding = performance.now() - this.queue[this.first]!.since > standingQueueMs;
    if (isStanding) {
      const newest = this.queue.pop()!;
      this.compact();
      return newest;
    }
    return this.shift();
  }

  private shift(): Waiting {
    const oldest = this.queue[this.first]!;
    this.first += 1;
    this.compact();
    return oldest;
  }

  /** Shifting one by one would move the whole array each time. */
  private compact(): void {
    if (this.first === this.queue.length || this.first > 1024) {
      this.queue = this.queue.slice(this.first);
      this.first = 0;
    }
  }

  /** One timer serves all: the oldest is the first to have waited too long. */
  private arm(ms: number): void {
    if (this.isArmed) return;
    this.isArmed = true;
    setTimeout(() => this.expire(), Math.max(1, ms)).unref();
  }

  private expire(): void {
    this.isArmed = false;
    const { maxWaitMs } = this.options;
    while (this.waiting > 0) {
      const left = this.queue[this.first]!.since + maxWaitMs - performance.now();
      if (left > 0) return this.arm(left);
      this.shift().settle(false);
    }
  }
}
