import type { Clock } from './clock.ts';
import { systemClock } from './clock.ts';

/** Decides how long a failed key waits. Source: client-go, `workqueue.RateLimiter`. */
export interface RateLimiter {
  /** Milliseconds; each call counts as a failure of the key. */
  delay(key: string): number;
  /** Resets the key's failures. */
  forget(key: string): void;
  /** Failures in a row. */
  failures(key: string): number;
}

export interface ItemBackoffOptions {
  /** Delay after the first failure, doubled by each further one. Milliseconds, default 5. */
  baseMs?: number;
  /** Default 1 000 s. */
  maxMs?: number;
  /** Random share that is added to a delay, so that keys that failed together are not retried together. Default 0.1. */
  jitter?: number;
  /** From 0 to 1, for tests. */
  random?: () => number;
}

/** Exponential back-off per key. */
export class ItemBackoff implements RateLimiter {
  readonly #options: Required<ItemBackoffOptions>;
  readonly #failures = new Map<string, number>();

  constructor({ baseMs = 5, maxMs = 1_000_000, jitter = 0.1, random = Math.random }: ItemBackoffOptions = {}) {
    this.#options = { baseMs, maxMs, jitter, random };
  }

  delay(key: string): number {
    const { baseMs, maxMs, jitter, random } = this.#options;
    const failures = this.failures(key);
    this.#failures.set(key, failures + 1);
    return Math.min(maxMs, baseMs * 2 ** failures) * (1 + jitter * random());
  }

  forget(key: string): void {
    this.#failures.delete(key);
  }

  failures(key: string): number {
    return this.#failures.get(key) ?? 0;
  }
}

export interface OverallLimitOptions {
  /** Retries a second of all keys together. Default 100. */
  perSecond?: number;
  /** Retries at once. Default 1 000. */
  burst?: number;
  clock?: Clock;
}

/** A token bucket over all keys: limits retries after many failures at once. */
export class OverallLimit implements RateLimiter {
  readonly #interval: number;
  readonly #burst: number;
  readonly #clock: Clock;
  /** When the bucket will be full again. */
  #full: number;

  constructor({ perSecond = 100, burst = 1000, clock = systemClock }: OverallLimitOptions = {}) {
    this.#interval = 1000 / perSecond;
    this.#burst = burst;
    this.#clock = clock;
    this.#full = clock.now();
  }

  delay(): number {
    const now = this.#clock.now();
    this.#full = Math.max(this.#full, now) + this.#interval;
    return Math.max(0, this.#full - now - this.#burst * this.#interval);
  }

  forget(): void {}

  failures(): number {
    return 0;
  }
}

/** The longest of several delays. */
export function slowestOf(...limiters: readonly RateLimiter[]): RateLimiter {
  return {
    delay: (key) => Math.max(...limiters.map((limiter) => limiter.delay(key))),
    forget: (key) => limiters.forEach((limiter) => limiter.forget(key)),
    failures: (key) => Math.max(...limiters.map((limiter) => limiter.failures(key))),
  };
}

/**
 * Wraps a limiter: if it throws or returns an invalid delay, uses a back-off of its own. An error would stop the work
 * on all keys.
 */
export function guardedLimiter(limiter: RateLimiter, onError: (error: unknown) => void): RateLimiter {
  const fallback = new ItemBackoff();
  const guarded = <T>(ask: () => T, otherwise: T): T => {
    try {
      return ask();
    } catch (error) {
      onError(error);
      return otherwise;
    }
  };
  return {
    delay: (key) => {
      const own = fallback.delay(key);
      const delay = guarded<unknown>(() => limiter.delay(key), undefined);
      return typeof delay === 'number' && Number.isFinite(delay) ? delay : own;
    },
    forget: (key) => {
      fallback.forget(key);
      guarded(() => limiter.forget(key), undefined);
    },
    failures: (key) => {
      const failures = guarded<unknown>(() => limiter.failures(key), undefined);
      return typeof failures === 'number' && Number.isSafeInteger(failures) ? failures : fallback.failures(key);
    },
  };
}
