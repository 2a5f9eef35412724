import { setMaxListeners } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isFenceLost } from '#pkg/apimachinery/index';
import type { Log } from '../log.ts';
import {
  formatRequest,
  parseRequest,
  TerminalError,
  type Reconciler,
  type ReconcileResult,
} from '../reconcile/reconciler.ts';
import type { Resume } from '../resume/resume.ts';
import type { EnqueueOptions, Source } from '../source/source.ts';
import type { Clock } from '../workqueue/clock.ts';
import type { RateLimiter } from '../workqueue/rate-limiter.ts';
import { WorkQueue, type QueueObserver } from '../workqueue/work-queue.ts';
import type { ReconcileFailures } from './reconcile-failures.ts';

/** The result of a reconcile. */
export type ReconcileOutcome = 'success' | 'requeued' | 'error' | 'terminal' | 'timeout';

export interface ControllerObserver extends QueueObserver {
  /** A reconcile ended after `tookMs` milliseconds. */
  reconciled(outcome: ReconcileOutcome, tookMs: number): void;
}

export interface ControllerOptions {
  name: string;
  reconciler: Reconciler;
  sources: readonly Source[];
  /** Its sources start together with the others. */
  resume?: Resume;
  log: Log;
  /** Maximum number of concurrent reconciles. Default 1. */
  concurrency?: number;
  /** Timeout of one reconcile. Milliseconds, default 60 000. */
  timeoutMs?: number;
  /** Resolves when the caches show all writes of this controller. */
  catchUp?: (signal: AbortSignal) => Promise<void>;
  limiter?: RateLimiter;
  clock?: Clock;
  observer?: ControllerObserver;
  /** Records failed and successful reconciles. */
  failures?: ReconcileFailures;
}

/** Takes requests from its sources and passes each to a Reconciler, never the same object twice at once. */
export class Controller {
  readonly name: string;
  readonly #options: ControllerOptions;
  readonly #queue: WorkQueue;
  readonly #starting = new AbortController();
  /** Aborts the running reconciles. */
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

  /** The number of waiting requests. */
  get backlog(): number {
    return this.#queue.length;
  }

  /** The problem of a source that has one. */
  get problem(): unknown {
    for (const source of this.#sources) {
      const problem = source.problem?.();
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  /**
   * Resolves when all sources have enqueued their initial requests and the workers have started; false if it was
   * stopped before.
   * @throws errors of a source: stop the controller then
   */
  async start(): Promise<boolean> {
    const { resume, concurrency = 1 } = this.#options;
    const { signal } = this.#starting;
    const synced = await Promise.all(
      this.#sources.map(async (source) =>
        source.start((request, options) => this.#enqueue(formatRequest(request), options), signal),
      ),
    );
    if (this.#stopped || synced.includes(false)) return false;
    resume?.begin();
    this.#workers = Array.from({ length: concurrency }, () => this.#work());
    return true;
  }

  /** Aborts running reconciles, and resolves when none is left. Idempotent, never rejects. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#starting.abort();
    const sources = Promise.all(this.#sources.map((source) => this.#stopSource(source)));
    for (const abort of this.#underWay) abort.abort(new Error('the controller is stopping'));
    await this.#queue.close();
    await Promise.all(this.#workers);
    await sources;
    await this.#options.resume?.end();
  }

  /** Never rejects, although a source of any author may throw. */
  async #stopSource(source: Source): Promise<void> {
    try {
      await source.stop();
    } catch (error) {
      this.#options.log.error({ err: error, controller: this.name }, 'could not stop a source of a controller');
    }
  }

  get #sources(): readonly Source[] {
    return [...this.#options.sources, ...(this.#options.resume?.sources ?? [])];
  }

  #enqueue(key: string, { revision, afterMs = 0 }: EnqueueOptions = {}): void {
    this.#options.resume?.ledger.ask(key, revision, dueAfter(afterMs));
    this.#queue.addAfter(key, afterMs);
  }

  async #work(): Promise<void> {
    for (let key = await this.#queue.take(); key !== undefined; key = await this.#queue.take())
      await this.#reconcile(key);
  }

  /**
   * Resolves when the worker may take the next key: after the timeout, even if the reconciler ignores its signal. Its
   * key stays taken until it ends.
   */
  async #reconcile(key: string): Promise<void> {
    const { timeoutMs = 60_000 } = this.#options;
    const abort = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const overdue = new Promise<OverdueError>((resolve) => {
      timer = setTimeout(() => {
        const error = new OverdueError(`the reconcile took longer than ${timeoutMs} ms`);
        abort.abort(error);
        resolve(error);
      }, timeoutMs);
    });
    // A reconcile may start many parallel calls with this signal.
    setMaxListeners(0, abort.signal);
    this.#underWay.add(abort);
    const ended = this.#attempt(key, abort.signal).finally(() => {
      clearTimeout(timer);
      this.#underWay.delete(abort);
      this.#queue.done(key);
    });
    const error = await Promise.race([ended, overdue]);
    if (error === undefined) return;
    // A reconciler that respects its signal has ended by then, and its own error says more.
    await nextTurn();
    if (this.#underWay.has(abort) && !this.#stopped) this.#noteOverdue(key, error);
  }

  /** Reported here, because a reconcile that never ends reports nothing itself. */
  #noteOverdue(key: string, error: OverdueError): void {
    const { failures, log, name } = this.#options;
    const attempt = this.#queue.failures(key) + 1;
    failures?.note({ controller: name, request: key, attempt, error, isLasting: true });
    log.warn(
      { err: error, controller: name, request: key, failures: attempt },
      'a reconcile exceeded its timeout and is still running',
    );
  }

  /** Never rejects. */
  async #attempt(key: string, signal: AbortSignal): Promise<void> {
    const began = performance.now();
    this.#options.resume?.ledger.begin(key);
    const outcome = await this.#outcomeOf(key, signal);
    this.#options.observer?.reconciled(outcome, performance.now() - began);
  }

  async #outcomeOf(key: string, signal: AbortSignal): Promise<ReconcileOutcome> {
    const { reconciler, catchUp, log, name, resume } = this.#options;
    try {
      await catchUp?.(signal);
      return this.#settle(key, requeueOf(await reconciler.reconcile(parseRequest(key), signal)));
    } catch (error) {
      const attempt = this.#queue.failures(key) + 1;
      const details = { err: error, controller: name, request: key, failures: attempt };
      const isOverdue = signal.reason instanceof OverdueError;
      if (!this.#stopped && !isFenceLost(error))
        this.#options.failures?.note({
          controller: name,
          request: key,
          attempt,
          error,
          isLasting: isOverdue || error instanceof TerminalError,
        });
      if (error instanceof TerminalError) {
        this.#queue.forget(key);
        resume?.ledger.settle(key);
        log.error(details, 'the reconcile failed; not retried until its object changes');
        return 'terminal';
      }
      resume?.ledger.fail(key);
      if (isFenceLost(error)) {
        // The new leader reconciles the object; this term is ending.
        log.debug(details, 'the API refused a write of a reconcile, because another process holds the lease now');
        return 'error';
      }
      if (!this.#stopped) log.warn(details, 'the reconcile failed; retrying');
      this.#queue.addRateLimited(key);
      return isOverdue ? 'timeout' : 'error';
    }
  }

  #settle(key: string, afterMs: number | undefined): ReconcileOutcome {
    this.#queue.forget(key);
    this.#options.failures?.clear(this.name, key);
    this.#options.resume?.ledger.settle(key);
    if (afterMs === undefined) return 'success';
    this.#enqueue(key, { afterMs });
    return 'requeued';
  }
}

/** A reconciler written in JavaScript may return anything. @throws TypeError for an invalid result. */
function requeueOf(result: ReconcileResult | null): number | undefined {
  if (result === undefined || result === null) return undefined;
  const { requeueAfterMs } = result;
  if (typeof requeueAfterMs !== 'number' || Number.isNaN(requeueAfterMs))
    throw new TypeError('a reconcile answers nothing, or requeueAfterMs as a number of milliseconds');
  return requeueAfterMs;
}

/** Milliseconds since 1970; 0 for immediately. */
function dueAfter(ms: number): number {
  return ms > 0 ? Math.ceil(Math.min(Date.now() + ms, Number.MAX_SAFE_INTEGER)) : 0;
}

class OverdueError extends Error {}
