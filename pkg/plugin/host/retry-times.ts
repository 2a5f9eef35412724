import { ItemBackoff } from '#pkg/runtime/index';

/** A worker that ran so long was well: its next crash counts as the first. Milliseconds. */
const wellAfterMs = 600_000;

/**
 * When plugins that failed may be started again: 1 s after the first failure, twice as long after each that follows, up
 * to 5 min.
 */
export class RetryTimes {
  readonly #backoff = new ItemBackoff({ baseMs: 1000, maxMs: 300_000, jitter: 0.2 });
  /** What it failed with, and when it may be tried again. */
  readonly #due = new Map<string, { input: string; at: number }>();

  /** @param input what the start was made of; with another it is not the same failure any more */
  failed(name: string, input: string, ranMs = 0): void {
    if (ranMs >= wellAfterMs || this.#due.get(name)?.input !== input) this.#backoff.forget(name);
    this.#due.set(name, { input, at: performance.now() + this.#backoff.delay(name) });
  }

  /** Milliseconds until the plugin may be started; 0 if it may be now. */
  wait(name: string, input: string): number {
    const due = this.#due.get(name);
    return due === undefined || due.input !== input ? 0 : Math.max(0, due.at - performance.now());
  }

  /** Is this another try with the same? */
  hasFailed(name: string, input: string): boolean {
    return this.#due.get(name)?.input === input;
  }

  forget(name: string): void {
    this.#due.delete(name);
    this.#backoff.forget(name);
  }
}
