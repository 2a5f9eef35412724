import { setTimeout as delay } from 'node:timers/promises';
import { whenAborted, type Client, type Fence } from '#pkg/apimachinery/index';
import { systemNamespace } from '#pkg/apis/index';
import { Cache } from '../cache/cache.ts';
import { CachedClient } from '../cache/cached-client.ts';
import { buildController, type ControllerEnvironment } from '../controller/build-controller.ts';
import type { Controller, ControllerObserver } from '../controller/controller.ts';
import type { ControllerDefinition } from '../controller/controller-definition.ts';
import { LeaderElector, type Leadership, type LeaderElectorOptions } from '../leaderelection/leader-elector.ts';
import type { Log } from '../log.ts';
import { EventRecorder } from '../recorder/event-recorder.ts';

export interface ManagerOptions {
  client: Client;
  log: Log;
  controllers: readonly ControllerDefinition[];
  /**
   * Whose controllers these are: with a controller's name it says whose stored position is whose. Default: the election's lease; without
   * either no controller resumes.
   */
  name?: string;
  /** Only the process that holds this lease runs the controllers; the others keep their caches warm. Without it they always run. */
  election?: Omit<LeaderElectorOptions, 'client' | 'log'>;
  /** For the writes of the controllers, where somebody else elected this process. */
  fence?: Fence;
  observerFor?: (controller: string) => ControllerObserver;
  /** For reconciles under way to end. Milliseconds, default 20 000. */
  stopTimeoutMs?: number;
}

/**
 * Runs controllers on one set of caches. Start order: caches, then (as leader) each controller in the order given. Stop is the
 * reverse: reconciles under way are told and waited for, then positions and events are written, then the lease is given back, then the caches end.
 */
export class Manager {
  readonly #options: ManagerOptions;
  readonly #cache: Cache;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #controllers: Controller[] = [];

  /** @throws Error if two controllers have one name. */
  constructor(options: ManagerOptions) {
    const names = options.controllers.map(({ name }) => name);
    const twice = names.find((name, i) => names.indexOf(name) !== i);
    if (twice !== undefined) throw new Error(`there are two controllers named ${twice}`);
    this.#options = options;
    this.#cache = new Cache(options);
    // So that the caches of one who waits to lead are warm.
    for (const { watches } of options.controllers) for (const { type, selection } of watches) this.#cache.informerFor(type, selection);
  }

  /** Names of the controllers that run here now. */
  get running(): string[] {
    return this.#controllers.map(({ name }) => name);
  }

  /** Returns at once; what fails is tried again and logged. Idempotent. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Resolves when nothing of it runs any more. Idempotent, never rejects. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await this.#cache.stop();
  }

  async #run(): Promise<void> {
    const { election, fence, client, log } = this.#options;
    const { signal } = this.#stopping;
    this.#cache.start();
    if (election === undefined) return this.#lead({ signal, ...(fence === undefined ? {} : { fence }) });
    const elector = new LeaderElector({ ...election, client, log });
    while (!signal.aborted) {
      await elector.run((leadership) => this.#lead(leadership), signal).catch((error: unknown) => log.error({ err: error }, 'a turn as leader ended badly'));
    }
  }

  /** Runs the controllers until the turn is over. */
  async #lead({ signal, fence }: Pick<Leadership, 'signal'> & { fence?: Fence }): Promise<void> {
    const { client, log, controllers, observerFor, election } = this.#options;
    const cached = new CachedClient({ client, cache: this.#cache, fence: () => fence });
    const fenced = fence === undefined ? {} : { fence };
    const positions = this.#positions(fenced);
    const recorder = new EventRecorder({ client, log, ...fenced, ...(election === undefined ? {} : { instance: election.identity }) });
    this.#controllers = controllers.map((definition) => {
      const observer = observerFor?.(definition.name);
      const events = recorder.sinkOf(definition.name);
      return buildController(definition, { cache: this.#cache, client: cached, ...fenced, log, events, ...(positions === undefined ? {} : { positions }), ...(observer === undefined ? {} : { observer }) });
    });
    const starting = Promise.all(this.#controllers.map((controller) => this.#startController(controller)));
    await aborted(signal);
    await this.#stopControllers();
    await recorder.stop();
    await starting;
  }

  /** Never rejects: a source may be anybody's. */
  async #startController(controller: Controller): Promise<void> {
    try {
      await controller.start();
    } catch (error) {
      this.#options.log.error({ err: error, controller: controller.name }, 'a controller could not start, and does not run in this turn');
    }
  }

  #positions(fenced: { fence?: Fence }): ControllerEnvironment['positions'] {
    const { client, election, log, controllers, name = election?.lease } = this.#options;
    if (name !== undefined) return { client, namespace: election?.namespace ?? systemNamespace, manager: name, ...fenced };
    const resuming = controllers.filter(({ tuning }) => tuning.resume !== undefined);
    if (resuming.length > 0) log.warn({ controllers: resuming.map((each) => each.name) }, 'controllers cannot resume under a manager without a name; they look at everything');
    return undefined;
  }

  async #stopControllers(): Promise<void> {
    const { stopTimeoutMs = 20_000, log } = this.#options;
    const limit = new AbortController();
    const overdue = delay(stopTimeoutMs, 'overdue' as const, { signal: limit.signal }).catch(() => undefined);
    const stopped = Promise.all(this.#controllers.map((controller) => controller.stop()));
    if ((await Promise.race([stopped, overdue])) === 'overdue') log.error({ controllers: this.running }, 'reconciles did not end in time and are left behind');
    limit.abort();
    this.#controllers = [];
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => void whenAborted(signal, resolve));
}
