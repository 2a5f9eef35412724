import { systemClock, type Clock } from './clock.ts';
import { DelayHeap } from './delay-heap.ts';
import { ItemBackoff, OverallLimit, slowestOf, type RateLimiter } from './rate-limiter.ts';

/** What a queue tells of itself. Times in milliseconds. */
export interface QueueObserver {
  depth(keys: number): void;
  added(): void;
  /** A key was handed out after so long in the queue. */
  taken(waitedMs: number): void;
  /** A key was worked on for so long. */
  done(workedMs: number): void;
  retried(): void;
}

export interface WorkQueueOptions {
  /** Default: back-off by key from 5 ms to 1 000 s with jitter, and 100 retries a second over all (burst 1 000). */
  limiter?: RateLimiter;
  clock?: Clock;
  observer?: QueueObserver;
}

/**
 * Keys that wait to be worked on. A key waits once however often it is added; it is never handed to two workers at
 * once: added during its work it comes again after. Source: client-go, `util/workqueue`.
 */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #limiter: RateLimiter;
  readonly #observer: QueueObserver | undefined;
  /** In the order they are handed out. */
  readonly #ready: Ring = new Ring();
  /** Wait to be handed out, or for the end of their work: since when. */
  readonly #dirty = new Map<string, number>();
  /** Being worked on: since when. */
  readonly #working = new Map<string, number>();
  readonly #delayed = new DelayHeap();
  readonly #takers: ((key: string | undefined) => void)[] = [];
  #idle: (() => void)[] = [];
  #alarm: { at: number; cancel: () => void } | undefined;
  #closed = false;

  constructor({ limiter, clock = systemClock, observer }: WorkQueueOptions = {}) {
    this.#clock = clock;
    this.#limiter = limiter ?? slowestOf(new ItemBackoff(), new OverallLimit({ clock }));
    this.#observer = observer;
  }

  /** Keys that wait to be handed out, without those that are delayed. */
  get length(): number {
    return this.#ready.length;
  }

  add(key: string): void {
    if (this.#closed || this.#dirty.has(key)) return;
    this.#dirty.set(key, this.#clock.now());
    this.#observer?.added();
    if (!this.#working.has(key)) this.#makeReady(key);
  }

  /** Adds the key after `ms`; of two delays of one key the one that ends first holds. */
  addAfter(key: string, ms: number): void {
    if (this.#closed) return;
    if (ms <= 0) return this.add(key);
    this.#delayed.add(key, this.#clock.now() + ms);
    this.#setAlarm();
  }

  /** Adds a key that failed, as late as its failures ask. */
  addRateLimited(key: string): void {
    if (this.#closed) return;
    this.#observer?.retried();
    this.addAfter(key, this.#limiter.delay(key));
  }

  /** The key's failures no longer count. */
  forget(key: string): void {
    this.#limiter.forget(key);
  }

  /** Failures in a row. */
  failures(key: string): number {
    return this.#limiter.failures(key);
  }

  /** The next key, to be given back by `done`; undefined when the queue is closed. */
  take(): Promise<string | undefined> {
    if (this.#closed) return Promise.resolve(undefined);
    const key = this.#ready.shift();
    if (key !== undefined) return Promise.resolve(this.#handOut(key));
    return new Promise((resolve) => this.#takers.push(resolve));
  }

  /** The work on the key is over, well or not. */
  done(key: string): void {
    const since = this.#working.get(key);
    if (since === undefined) return;
    this.#working.delete(key);
    this.#observer?.done(this.#clock.now() - since);
    if (this.#dirty.has(key)) this.#makeReady(key);
    if (this.#working.size > 0) return;
    for (const resolve of this.#idle) resolve();
    this.#idle = [];
  }

  /**
   * Hands out nothing more: what waits is dropped, since whoever starts again begins with everything. Resolves when the
   * work under way is over. Idempotent.
   */
  close(): Promise<void> {
    this.#closed = true;
    this.#alarm?.cancel();
    this.#alarm = undefined;
    this.#delayed.clear();
    this.#ready.clear();
    this.#dirty.clear();
    for (const taker of this.#takers.splice(0)) taker(undefined);
    if (this.#working.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  #makeReady(key: string): void {
    const taker = this.#takers.shift();
    if (taker !== undefined) return taker(this.#handOut(key));
    this.#ready.push(key);
    this.#observer?.depth(this.#ready.length);
  }

  #handOut(key: string): string {
    const now = this.#clock.now();
    this.#observer?.taken(now - (this.#dirty.get(key) ?? now));
    this.#observer?.depth(this.#ready.length);
    this.#dirty.delete(key);
    this.#working.set(key, now);
    return key;
  }

  #setAlarm(): void {
    const at = this.#delayed.next;
    if (at === undefined || (this.#alarm !== undefined && this.#alarm.at <= at)) return;
    this.#alarm?.cancel();
    this.#alarm = { at, cancel: this.#clock.after(Math.max(0, at - this.#clock.now()), () => this.#addDue()) };
  }

  #addDue(): void {
    this.#alarm = undefined;
    const now = this.#clock.now();
    for (let key = this.#delayed.takeDue(now); key !== undefined; key = this.#delayed.takeDue(now)) this.add(key);
    this.#setAlarm();
  }
}

/** First in, first out, without moving what waits. */
class Ring {
  #keys: string[] = [];
  #head = 0;

  get length(): number {
    return this.#keys.length - this.#head;
  }

  push(key: string): void {
    this.#keys.push(key);
  }

  shift(): string | undefined {
    if (this.length === 0) return undefined;
    const key = this.#keys[this.#head];
    this.#head += 1;
    if (this.#head > 1024 && this.#head * 2 > this.#keys.length) {
      this.#keys = this.#keys.slice(this.#head);
      this.#head = 0;
    }
    return key;
  }

  clear(): void {
    this.#keys = [];
    this.#head = 0;
  }
}
