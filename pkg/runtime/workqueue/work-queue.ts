import { systemClock, type Clock } from './clock.ts';
import { DelayHeap } from './delay-heap.ts';
import { ItemBackoff, OverallLimit, slowestOf, type RateLimiter } from './rate-limiter.ts';

/** Observes a queue. Times in milliseconds. */
export interface QueueObserver {
  depth(keys: number): void;
  added(): void;
  /** A worker took a key that had waited this long. */
  taken(waitedMs: number): void;
  /** The work on a key took this long. */
  done(workedMs: number): void;
  retried(): void;
}

export interface WorkQueueOptions {
  /** Default: back-off by key from 5 ms to 1 000 s with jitter, and 100 retries a second in total (burst 1 000). */
  limiter?: RateLimiter;
  clock?: Clock;
  observer?: QueueObserver;
}

/**
 * A queue of keys. A key waits once however often it is added, and no two workers get it at once: a key that is added
 * during its work comes again afterwards. Source: client-go, `util/workqueue`.
 */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #limiter: RateLimiter;
  readonly #observer: QueueObserver | undefined;
  /** In the order of `take`. */
  readonly #ready: Ring = new Ring();
  /** Keys that wait for a worker or for the end of their work, with the start of the wait. */
  readonly #dirty = new Map<string, number>();
  /** Keys in work, with the start of the work. */
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

  /** Waiting keys, without delayed ones. */
  get length(): number {
    return this.#ready.length;
  }

  add(key: string): void {
    if (this.#closed || this.#dirty.has(key)) return;
    this.#dirty.set(key, this.#clock.now());
    this.#observer?.added();
    if (!this.#working.has(key)) this.#makeReady(key);
  }

  /** Adds the key after `ms`; of two delays of a key the earlier end counts. */
  addAfter(key: string, ms: number): void {
    if (this.#closed) return;
    if (ms <= 0) return this.add(key);
    this.#delayed.add(key, this.#clock.now() + ms);
    this.#setAlarm();
  }

  /** Adds a failed key after its back-off. */
  addRateLimited(key: string): void {
    if (this.#closed) return;
    this.#observer?.retried();
    this.addAfter(key, this.#limiter.delay(key));
  }

  /** Resets the key's failures. */
  forget(key: string): void {
    this.#limiter.forget(key);
  }

  /** Failures in a row. */
  failures(key: string): number {
    return this.#limiter.failures(key);
  }

  /** The next key; the worker must call `done` for it. Undefined when the queue is closed. */
  take(): Promise<string | undefined> {
    if (this.#closed) return Promise.resolve(undefined);
    const key = this.#ready.shift();
    if (key !== undefined) return Promise.resolve(this.#handOut(key));
    return new Promise((resolve) => this.#takers.push(resolve));
  }

  /** The work on the key has ended, successfully or not. */
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
   * Hands out no more keys and drops waiting ones, because a restart begins with everything. Resolves when the running
   * work is over. Idempotent.
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

/** A first-in, first-out queue that does not move waiting keys. */
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
