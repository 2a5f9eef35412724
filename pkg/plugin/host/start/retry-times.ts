import { ItemBackoff } from '#pkg/runtime/index';

/** After running this long a worker counts as healthy: its next crash counts as the first. Milliseconds. */
const healthyAfterMs = 600_000;

/**
 * When failed plugins may start again: 1 s after the first failure, twice as long after each further one, up to 5 min.
 */
export class RetryTimes {
  readonly #backoff = new ItemBackoff({ baseMs: 1000, maxMs: 300_000, jitter: 0.2 });
  /** The input of the failed start, and when it may be tried again. */
  readonly #due = new Map<string, { input: string; at: number }>();

  /** @param input identifies files and spec of the start; another input counts as a first failure */
  failed(name: string, input: string, ranMs = 0): void {
    if (ranMs >= healthyAfterMs || this.#due.get(name)?.input !== input) this.#backoff.forget(name);
    this.#due.set(name, { input, at: performance.now() + this.#backoff.delay(name) });
  }

  /** Milliseconds until the plugin may be started; 0 if it may be now. */
  wait(name: string, input: string): number {
    const due = this.#due.get(name);
    return due === undefined || due.input !== input ? 0 : Math.max(0, due.at - performance.now());
  }

  /** Whether a start with this input has failed. */
  hasFailed(name: string, input: string): boolean {
    return this.#due.get(name)?.input === input;
  }

  forget(name: string): void {
    this.#due.delete(name);
    this.#backoff.forget(name);
  }
}
