import { isDoneWithin, pause, whenAborted, type Client, type Fence } from '#pkg/apimachinery/index';
import { systemNamespace } from '#pkg/apis/index';
import { Cache } from '../cache/cache.ts';
import { CachedClient } from '../cache/cached-client.ts';
import { buildController, type ControllerEnvironment } from '../controller/build-controller.ts';
import type { Controller, ControllerObserver } from '../controller/controller.ts';
import type { ControllerDefinition } from '../definition/controller-definition.ts';
import { ReconcileFailures, type FailureSummary } from '../controller/reconcile-failures.ts';
import { LeaderElector, type Leadership, type LeaderElectorOptions } from '../leaderelection/leader-elector.ts';
import type { Log } from '../log.ts';
import { EventRecorder } from '../recorder/event-recorder.ts';
import { ItemBackoff } from '../workqueue/rate-limiter.ts';
import { checkControllers } from './check-controllers.ts';
import { ControllerRun, type ControllerStatus } from './controller-run.ts';

export interface ManagerOptions {
  client: Client;
  log: Log;
  controllers: readonly ControllerDefinition[];
  /**
   * Namespace of the controllers' stored positions. Default: the election's lease; without either no controller
   * resumes.
   */
  name?: string;
  /**
   * Only the process that holds this lease runs the controllers; the others keep their caches warm. Without it the
   * controllers always run.
   */
  election?: Omit<LeaderElectorOptions, 'client' | 'log'>;
  /** The fence of the controllers' writes, if this process was elected elsewhere. */
  fence?: Fence;
  observerFor?: (controller: string) => ControllerObserver;
  /** How long the stop waits for running reconciles. Milliseconds, default 20 000. */
  stopTimeoutMs?: number;
  /** Called when `controllers` or `failures` may have changed. Runs synchronously. */
  onChange?: () => void;
}

/**
 * Runs controllers on one set of caches. Start order: caches, then (as leader) each controller in the given order. The
 * stop is the reverse: it aborts running reconciles and waits for them, writes positions and events, releases the
 * lease, then stops the caches.
 */
export class Manager {
  readonly #options: ManagerOptions;
  readonly #cache: Cache;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  readonly #elector: LeaderElector | undefined;
  readonly #backoff = new ItemBackoff({ baseMs: 1000, maxMs: 60_000 });
  readonly #waiters = new Set<() => void>();
  #isLeading = false;
  #runs: ControllerRun[] = [];
  #failures = new ReconcileFailures();

  /** @throws Error for invalid controllers, see `checkControllers` */
  constructor(options: ManagerOptions) {
    checkControllers(options.controllers);
    this.#options = options;
    const { client, log, election } = options;
    this.#cache = new Cache({ client, log, onProblem: () => this.#changed() });
    this.#elector = election === undefined ? undefined : new LeaderElector({ ...election, client, log });
    // Keeps the caches of a candidate warm.
    for (const { watches } of options.controllers)
      for (const { type, selection } of watches) this.#cache.informerFor(type, selection);
  }

  /** Names of the controllers that run in this process now. */
  get running(): string[] {
    return this.#runs
      .map(({ status }) => status)
      .filter(({ state }) => state !== 'failed')
      .map(({ name }) => name);
  }

  /** Whether this process leads, even if its controllers fail. */
  get isLeading(): boolean {
    return this.#isLeading;
  }

  /** Why the last read of the lease failed; undefined if it succeeded, and without an election. */
  get electionProblem(): unknown {
    return this.#elector?.problem;
  }

  /** The status of each controller. */
  get controllers(): ControllerStatus[] {
    if (this.#isLeading) return this.#runs.map(({ status }) => status);
    return this.#options.controllers.map(({ name }) => ({ name, state: 'waiting' }));
  }

  /** The failing reconciles of this term; undefined if there are none. */
  get failures(): FailureSummary | undefined {
    return this.#failures.summary;
  }

  /** Returns immediately; failures are logged and retried. Idempotent. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Resolves when all of it has stopped. Idempotent, never rejects. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#changed();
    await this.#running;
    await this.#cache.stop();
  }

  /** Resolves when no controller is `starting` any more, the manager stops, or `signal` fires. */
  async settled(signal: AbortSignal): Promise<void> {
    const isSettled = (): boolean =>
      this.#stopping.signal.aborted ||
      this.controllers.every(({ state }) => state !== 'starting' && state !== 'waiting');
    while (!signal.aborted && !isSettled()) {
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          forget();
          this.#waiters.delete(wake);
          resolve();
        };
        const forget = whenAborted(signal, () => wake());
        this.#waiters.add(wake);
      });
    }
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    const { fence, log } = this.#options;
    const { signal } = this.#stopping;
    this.#cache.start();
    while (!signal.aborted) {
      try {
        if (this.#elector === undefined) await this.#lead({ signal, ...(fence === undefined ? {} : { fence }) });
        else await this.#elector.run((leadership) => this.#lead(leadership), signal);
        this.#backoff.forget('');
      } catch (error) {
        log.error({ err: error }, 'a term as leader ended with an error; retrying');
        await pause(this.#backoff.delay(''), signal);
      }
    }
  }

  /** Runs the controllers until the term is over. */
  async #lead({ signal, fence }: Pick<Leadership, 'signal'> & { fence?: Fence }): Promise<void> {
    const { client, log, controllers, observerFor, election } = this.#options;
    const cached = new CachedClient({ client, cache: this.#cache, fence: () => fence });
    const fenced = fence === undefined ? {} : { fence };
    const positions = this.#positions(fenced);
    const recorder = new EventRecorder({
      client,
      log,
      ...fenced,
      ...(election === undefined ? {} : { instance: election.identity }),
    });
    const failures = new ReconcileFailures(() => this.#changed());
    const environment = {
      cache: this.#cache,
      client: cached,
      ...fenced,
      log,
      failures,
      ...(positions === undefined ? {} : { positions }),
    };
    this.#failures = failures;
    this.#runs = controllers.map((definition) => {
      const { name } = definition;
      const observer = observerFor?.(name);
      const events = recorder.sinkOf(name);
      const build = (): Controller => {
        failures.clearAll(name);
        return buildController(definition, { ...environment, events, ...(observer === undefined ? {} : { observer }) });
      };
      return new ControllerRun({ name, build, log, onChange: () => this.#changed() });
    });
    this.#isLeading = true;
    const starting = Promise.all(this.#runs.map((run) => run.start()));
    this.#changed();
    await aborted(signal);
    await this.#stopControllers(starting);
    await recorder.stop();
  }

  #changed(): void {
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const wake of waiters) wake();
    this.#options.onChange?.();
  }

  #positions(fenced: { fence?: Fence }): ControllerEnvironment['positions'] {
    const { client, election, log, controllers, name = election?.lease } = this.#options;
    if (name !== undefined)
      return { client, namespace: election?.namespace ?? systemNamespace, manager: name, ...fenced };
    const resuming = controllers.filter(({ tuning }) => tuning.resume !== undefined);
    if (resuming.length > 0)
      log.warn(
        { controllers: resuming.map((each) => each.name) },
        'controllers cannot resume, because their manager has no name; they reconcile all objects',
      );
    return undefined;
  }

  async #stopControllers(starting: Promise<unknown>): Promise<void> {
    const { stopTimeoutMs = 20_000, log } = this.#options;
    const stopped = Promise.all([starting, ...this.#runs.map((run) => run.stop())]);
    if (!(await isDoneWithin(stopTimeoutMs, stopped)))
      log.error({ controllers: this.running }, 'reconciles did not end in time; stopping without waiting for them');
    this.#isLeading = false;
    this.#runs = [];
    this.#failures = new ReconcileFailures();
    this.#changed();
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => void whenAborted(signal, resolve));
}
