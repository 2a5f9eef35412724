import { isDoneWithin, pause } from '#pkg/apimachinery/index';
import type { Controller } from '../controller/controller.ts';
import type { Log } from '../log.ts';
import { ItemBackoff, type RateLimiter } from '../workqueue/rate-limiter.ts';

/**
 * `waiting`: another process leads. `starting`: reads the existing objects. `running`: reconciles. `stalled`: cannot
 * follow changes. `failed`: could not be built or started. A stalled or failed controller is retried, with growing
 * delays.
 */
export type ControllerState = 'waiting' | 'starting' | 'running' | 'stalled' | 'failed';

export interface ControllerStatus {
  name: string;
  state: ControllerState;
  /** Why it is stalled or failed. */
  problem?: unknown;
}

export interface ControllerRunOptions {
  name: string;
  /** Builds a controller for each try. */
  build: () => Controller;
  log: Log;
  /** Called when the status has changed. Runs synchronously. */
  onChange: () => void;
  /** Delay between tries to start it. Default 1 s, doubled up to 5 min. */
  backoff?: RateLimiter;
  /** How long to wait for a failed controller to stop before the next try. Milliseconds, default 10 000. */
  stopTimeoutMs?: number;
}

/** One controller in one term of its manager: builds and starts it until that succeeds, then runs it until the stop. */
export class ControllerRun {
  readonly name: string;
  readonly #options: ControllerRunOptions;
  readonly #backoff: RateLimiter;
  readonly #stopping = new AbortController();
  #controller: Controller | undefined;
  #state: 'starting' | 'running' | 'failed' = 'starting';
  #failure: unknown;
  /** The failure that was last logged. */
  #lastLogged = '';

  constructor(options: ControllerRunOptions) {
    this.name = options.name;
    this.#options = options;
    this.#backoff = options.backoff ?? new ItemBackoff({ baseMs: 1000, maxMs: 300_000 });
  }

  get status(): ControllerStatus {
    const { name } = this;
    if (this.#state === 'failed') return { name, state: 'failed', problem: this.#failure };
    const problem = this.#controller?.problem;
    return problem === undefined ? { name, state: this.#state } : { name, state: 'stalled', problem };
  }

  /** Resolves when it runs or was stopped. Never rejects. */
  async start(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      if (await this.#try()) return;
      await pause(this.#backoff.delay(''), signal);
    }
  }

  /** Resolves when no reconcile is running. Idempotent, never rejects. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#controller?.stop();
  }

  /** True if no further try is needed. */
  async #try(): Promise<boolean> {
    const { signal } = this.#stopping;
    try {
      const controller = this.#options.build();
      this.#controller = controller;
      const hasStarted = await controller.start();
      if (!hasStarted && !signal.aborted)
        throw new Error('a source ended before it had delivered the existing objects');
      if (hasStarted) this.#become('running');
      return true;
    } catch (error) {
      if (!signal.aborted) {
        this.#failure = error;
        this.#logFailure(error);
        this.#become('failed');
      }
      await this.#stopFailed();
      return signal.aborted;
    }
  }

  /** A failed source may not stop either: after the timeout its requests are dropped. Never rejects. */
  async #stopFailed(): Promise<void> {
    const { log, name, stopTimeoutMs = 10_000 } = this.#options;
    const controller = this.#controller;
    if (controller === undefined) return;
    if (!(await isDoneWithin(stopTimeoutMs, controller.stop())))
      log.error(
        { controller: name },
        'a controller that failed to start did not stop in time; continuing without waiting for it',
      );
    this.#controller = undefined;
  }

  #become(state: 'running' | 'failed'): void {
    this.#state = state;
    this.#options.onChange();
  }

  /** Logs the same failure once. */
  #logFailure(error: unknown): void {
    const { log, name } = this.#options;
    const text = error instanceof Error ? error.message : typeof error;
    const level = text === this.#lastLogged ? 'debug' : 'error';
    this.#lastLogged = text;
    log[level]({ err: error, controller: name }, 'could not start a controller; retrying');
  }
}
