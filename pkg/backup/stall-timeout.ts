import { whenAborted } from '#pkg/apimachinery/index';
import { BackupError } from './backup-error.ts';

/**
 * A signal that aborts with `outer`, or after `limit` milliseconds without progress while it watches. Otherwise a
 * stalled reader would keep a snapshot open forever, and a stalled writer would keep locks.
 */
export class StallTimeout {
  readonly #controller = new AbortController();
  readonly #limitMs: number;
  readonly #timer: NodeJS.Timeout;
  readonly #forget: () => void;
  #moved = performance.now();
  #isPaused = false;

  constructor(outer: AbortSignal, limitMs: number) {
    this.#limitMs = limitMs;
    this.#forget = whenAborted(outer, () => this.#controller.abort(outer.reason));
    this.#timer = setInterval(() => this.#look(), Math.min(limitMs / 4, 5_000)).unref();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  moved(): void {
    this.#moved = performance.now();
  }

  /** For work of the database itself, which has no time limit. */
  pause(): void {
    this.#isPaused = true;
  }

  end(): void {
    clearInterval(this.#timer);
    this.#forget();
  }

  #look(): void {
    if (this.#isPaused || performance.now() - this.#moved < this.#limitMs) return;
    this.#controller.abort(
      new BackupError(`No progress for ${Math.round(this.#limitMs / 1000)} seconds: the command gave up.`),
    );
  }
}
