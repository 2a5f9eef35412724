import { whenAborted } from '#pkg/apimachinery/index';
import { BackupError } from './backup-error.ts';

/**
 * A signal that aborts with `outer`, or after `limit` milliseconds without progress while it watches. Otherwise a
 * reader that stops would keep a snapshot open for ever, and a writer that stops would keep locks.
 */
export class StallTimeout {
  readonly #controller = new AbortController();
  readonly #limit: number;
  readonly #timer: NodeJS.Timeout;
  readonly #forget: () => void;
  #moved = performance.now();
  #isPaused = false;

  constructor(outer: AbortSignal, limit: number) {
    this.#limit = limit;
    this.#forget = whenAborted(outer, () => this.#controller.abort(outer.reason));
    this.#timer = setInterval(() => this.#look(), Math.min(limit / 4, 5_000)).unref();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  moved(): void {
    this.#moved = performance.now();
  }

  /** What comes is the database's own work, which takes as long as it does. */
  pause(): void {
    this.#isPaused = true;
  }

  end(): void {
    clearInterval(this.#timer);
    this.#forget();
  }

  #look(): void {
    if (this.#isPaused || performance.now() - this.#moved < this.#limit) return;
    this.#controller.abort(
      new BackupError(`Nothing has moved for ${Math.round(this.#limit / 1000)} seconds: given up.`),
    );
  }
}
