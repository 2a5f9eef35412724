import { setMaxListeners } from 'node:events';
import type { Log } from '../log.ts';
import { formatRequest, parseRequest, TerminalError, type Reconciler, type ReconcileResult } from '../reconcile/reconciler.ts';
import type { Source } from '../source/source.ts';
import type { Clock } from '../workqueue/clock.ts';
import type { RateLimiter } from '../workqueue/rate-limiter.ts';
import { WorkQueue, type QueueObserver } from '../workqueue/work-queue.ts';

/** How a reconcile ended. */
export type ReconcileOutcome = 'success' | 'requeued' | 'error' | 'terminal' | 'timeout';

export interface ControllerObserver extends QueueObserver {
  /** Took so many milliseconds. */
  reconciled(outcome: ReconcileOutcome, tookMs: number): void;
}

export interface ControllerOptions {
  name: string;
  reconciler: Reconciler;
  sources: readonly Source[];
  log: Log;
  /** Objects that are worked on at once. Default 1. */
  concurrency?: number;
  /** For one reconcile. Milliseconds, default 60 000. */
  timeoutMs?: number;
  /** Resolves when the caches show all that this controller has written. */
  catchUp?: (signal: AbortSignal) => Promise<void>;
  limiter?: RateLimiter;
  clock?: Clock;
  observer?: ControllerObserver;
}

/** Takes requests from its sources and lets a Reconciler look at each, one object never twice at once. */
export class Controller {
  readonly name: string;
  readonly #options: ControllerOptions;
  readonly #queue: WorkQueue;
  readonly #starting = new AbortController();
  /** Of the reconciles under way. */
  readonly #underWay = new Set<AbortController>();
  #workers: Promise<void>[] = [];
  #stopped = false;

  constructor(options: ControllerOptions) {
    this.name = options.name;
    this.#options = options;
    const { limiter, clock, observer } = options;
    this.#queue = new WorkQueue({
      ...(limiter === undefined ? {} : { limiter }),
      ...(clock === undefined ? {} : { clock }),
      ...(observer === undefined ? {} : { observer }),
    });
  }

  /** Requests that wait. */
  get backlog(): number {
    return this.#queue.length;
  }

  /** Resolves when the sources have given what there was at first and work has begun; false if it was stopped before. */
  async start(): Promise<boolean> {
    const { sources, concurrency = 1 } = this.#options;
    const { signal } = this.#starting;
    const synced = await Promise.all(sources.map((source) => source.start((request) => this.#queue.add(formatRequest(request)), signal)));
    if (this.#stopped || synced.includes(false)) return false;
    this.#workers = Array.from({ length: concurrency }, () => this.#work());
    return true;
  }

  /** Resolves when no reconcile is under way; those that are get their signal. Idempotent. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#starting.abort();
    const sources = Promise.all(this.#options.sources.map(async (source) => source.stop()));
    for (const abort of this.#underWay) abort.abort(new Error('the controller is stopping'));
    await this.#queue.close();
    await Promise.all(this.#workers);
    await sources;
  }

  async #work(): Promise<void> {
    for (let key = await this.#queue.take(); key !== undefined; key = await this.#queue.take()) await this.#reconcile(key);
  }

  /** Resolves when the worker may take the next key: at the time-out, even if the reconciler does not heed its signal. Its key stays taken until it does. */
  async #reconcile(key: string): Promise<void> {
    const { timeoutMs = 60_000 } = this.#options;
    const abort = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const overdue = new Promise<void>((resolve) => {
      timer = setTimeout(() => {
        abort.abort(new OverdueError(`the reconcile took longer than ${timeoutMs} ms`));
        resolve();
      }, timeoutMs);
    });
    // A reconcile may do many things at once, all of them under its signal.
    setMaxListeners(0, abort.signal);
    this.#underWay.add(abort);
    const ended = this.#attempt(key, abort.signal).finally(() => {
      clearTimeout(timer);
      this.#underWay.delete(abort);
      this.#queue.done(key);
    });
    await Promise.race([ended, overdue]);
  }

  /** Never rejects. */
  async #attempt(key: string, signal: AbortSignal): Promise<void> {
    const began = performance.now();
    const outcome = await this.#outcomeOf(key, signal);
    this.#options.observer?.reconciled(outcome, performance.now() - began);
  }

  async #outcomeOf(key: string, signal: AbortSignal): Promise<ReconcileOutcome> {
    const { reconciler, catchUp, log, name } = this.#options;
    try {
      await catchUp?.(signal);
      return this.#settle(key, await reconciler.reconcile(parseRequest(key), signal));
    } catch (error) {
      const details = { err: error, controller: name, request: key, failures: this.#queue.failures(key) + 1 };
      if (error instanceof TerminalError) {
        this.#queue.forget(key);
        log.error(details, 'the reconcile failed, and is not tried again until something changes');
        return 'terminal';
      }
      if (!this.#stopped) log.warn(details, 'the reconcile failed, and is tried again');
      this.#queue.addRateLimited(key);
      return signal.reason instanceof OverdueError ? 'timeout' : 'error';
    }
  }

  #settle(key: string, result: ReconcileResult): ReconcileOutcome {
    this.#queue.forget(key);
    if (result === undefined) return 'success';
    this.#queue.addAfter(key, result.requeueAfterMs);
    return 'requeued';
  }
}

class OverdueError extends Error {}
