import { aborted, fieldManagerName, isDoneWithin, whenAborted, type Client, type Fence } from '#pkg/apimachinery/index';
import { systemNamespace } from '#pkg/apis/index';
import { Cache } from '../cache/cache.ts';
import { CachedClient } from '../cache/cached-client.ts';
import { buildController, type ControllerEnvironment } from '../controller/build-controller.ts';
import type { Controller, ControllerObserver } from '../controller/controller.ts';
import type { ControllerDefinition } from '../definition/controller-definition.ts';
import { ReconcileFailures, type FailureSummary } from '../controller/reconcile-failures.ts';
import type { Leadership, TaskLeases } from '../leaderelection/task-leases.ts';
import type { Log } from '../log.ts';
import { EventRecorder } from '../recorder/event-recorder.ts';
import { checkControllers } from './check-controllers.ts';
import { ControllerRun, type ControllerStatus } from './controller-run.ts';

export interface ManagerOptions {
  client: Client;
  log: Log;
  controllers: readonly ControllerDefinition[];
  /** Namespace of the controllers' stored positions. Default: the group of `leases`; without either none resumes. */
  name?: string;
  /**
   * Each controller is a task of these hosts: it runs in the process that holds its lease, and the others keep their
   * caches warm. Without it the controllers always run. The caller starts and stops it.
   */
  leases?: TaskLeases;
  /** The fence of the controllers' writes, if this process was elected elsewhere. */
  fence?: Fence;
  /**
   * Whose controllers they are: the field manager of a controller's writes is `OWNER/CONTROLLER`. Default: the
   * controller's name alone.
   */
  owner?: string;
  observerFor?: (controller: string) => ControllerObserver;
  /** How long the stop of a controller waits for running reconciles. Milliseconds, default 20 000. */
  stopTimeoutMs?: number;
  /** Called when `controllers` or `failures` may have changed. Runs synchronously. */
  onChange?: () => void;
}

/**
 * Runs controllers on one set of caches, each while this process leads it. A controller's stop aborts its running
 * reconciles and waits for them, writes its position and events, and gives back its lease. The caches stop last.
 */
export class Manager {
  readonly #options: ManagerOptions;
  readonly #cache: Cache;
  readonly #stopping = new AbortController();
  readonly #waiters = new Set<() => void>();
  /** The controllers that this process leads. */
  readonly #runs = new Map<string, ControllerRun>();
  readonly #failures = new ReconcileFailures(() => this.#changed());
  /** Resolves when no controller runs any more. */
  #ended: (() => Promise<void>) | undefined;

  /** @throws Error for invalid controllers, see `checkControllers` */
  constructor(options: ManagerOptions) {
    checkControllers(options.controllers);
    this.#options = options;
    const { client, log } = options;
    this.#cache = new Cache({ client, log, onProblem: () => this.#changed() });
    // Keeps the caches of a process warm that does not lead.
    for (const { watches } of options.controllers)
      for (const { type, selection } of watches) this.#cache.informerFor(type, selection);
  }

  /** Names of the controllers that run in this process now. */
  get running(): string[] {
    return this.controllers.filter(({ state }) => state !== 'failed' && state !== 'waiting').map(({ name }) => name);
  }

  /** The status of each controller. */
  get controllers(): ControllerStatus[] {
    return this.#options.controllers.map(({ name }) => this.#runs.get(name)?.status ?? { name, state: 'waiting' });
  }

  /** The failing reconciles of the running controllers; undefined if there are none. */
  get failures(): FailureSummary | undefined {
    return this.#failures.summary;
  }

  /** Returns immediately; failures are logged and retried. Idempotent. */
  start(): void {
    if (this.#ended !== undefined) return;
    const { leases, controllers, fence } = this.#options;
    const { signal } = this.#stopping;
    this.#cache.start();
    if (leases === undefined) {
      const term = { signal, ...(fence === undefined ? {} : { fence }) };
      const running = Promise.all(controllers.map((definition) => this.#lead(definition, term)));
      this.#ended = async () => void (await running);
    } else {
      const tasks = controllers.map((definition) => ({
        name: definition.name,
        lead: (leadership: Leadership) => this.#lead(definition, leadership),
      }));
      this.#ended = leases.add({ tasks: () => tasks });
    }
  }

  /** Resolves when all of it has stopped. Idempotent, never rejects. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#changed();
    await this.#ended?.();
    await this.#cache.stop();
  }

  /** Without leases: resolves when no controller is `starting` any more, the manager stops, or `signal` fires. */
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

  /** Runs a controller until the term is over. Never rejects. */
  async #lead(
    definition: ControllerDefinition,
    { signal, fence }: Pick<Leadership, 'signal'> & { fence?: Fence },
  ): Promise<void> {
    const { client, log, observerFor, leases, owner } = this.#options;
    const { name } = definition;
    const fieldManager = fieldManagerName(owner === undefined ? name : `${owner}/${name}`);
    const fenced = fence === undefined ? {} : { fence };
    const positions = this.#positions(definition, fenced);
    const recorder = new EventRecorder({
      client,
      log,
      ...fenced,
      ...(leases === undefined ? {} : { instance: leases.identity }),
    });
    const observer = observerFor?.(name);
    const environment = {
      cache: this.#cache,
      client: new CachedClient({ client, cache: this.#cache, fence: () => fence, fieldManager }),
      ...fenced,
      log,
      events: recorder.sinkOf(name),
      failures: this.#failures,
      ...(observer === undefined ? {} : { observer }),
      ...(positions === undefined ? {} : { positions }),
    };
    const build = (): Controller => {
      this.#failures.clearAll(name);
      return buildController(definition, environment);
    };
    const run = new ControllerRun({ name, build, log, onChange: () => this.#changed() });
    this.#runs.set(name, run);
    const starting = run.start();
    this.#changed();
    await aborted(signal);
    await this.#stopController(run, starting);
    await recorder.stop();
  }

  #changed(): void {
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const wake of waiters) wake();
    this.#options.onChange?.();
  }

  #positions(
    { name: controller, tuning }: ControllerDefinition,
    fenced: { fence?: Fence },
  ): ControllerEnvironment['positions'] {
    const { client, leases, log, name = leases?.group } = this.#options;
    if (name !== undefined)
      return { client, namespace: leases?.namespace ?? systemNamespace, manager: name, ...fenced };
    if (tuning.resume !== undefined)
      log.warn(
        { controller },
        'a controller cannot resume, because its manager has no name; it reconciles all objects',
      );
    return undefined;
  }

  async #stopController(run: ControllerRun, starting: Promise<unknown>): Promise<void> {
    const { stopTimeoutMs = 20_000, log } = this.#options;
    const { name } = run;
    if (!(await isDoneWithin(stopTimeoutMs, Promise.all([starting, run.stop()]))))
      log.error({ controller: name }, 'reconciles did not end in time; stopping without waiting for them');
    this.#runs.delete(name);
    this.#failures.clearAll(name);
    this.#changed();
  }
}
