import cluster, { type Worker } from 'node:cluster';
import type { LevelWithSilent, Logger } from 'pino';
import { isDoneWithin } from '#pkg/apimachinery/index';
import { OperatorError } from '../options/operator-error.ts';
import { SharedCounts } from './shared-counts.ts';
import type { MessageToParent, MessageToWorker, ServingPlatform, StartOrder, WorkersState } from './worker-messages.ts';
import { workerWord } from './worker-word.ts';

const firstPauseMs = 100;
const maxPauseMs = 10_000;
/** After so long a life the next pause is the first one again. Milliseconds. */
const longLifeMs = 60_000;
/** How long the final messages of a worker may arrive after its exit. Milliseconds. */
const finalMessagesMs = 1000;
/** A worker that does not tell its metrics within this time is left out. Milliseconds. */
const metricsTimeoutMs = 2000;

export interface WorkerPoolOptions {
  count: number;
  log: Logger;
  /** The order for a worker that starts; `port`: that of the platform, once a worker listens. */
  orderFor: (worker: number, port: number | undefined) => StartOrder;
  /** Metrics of this process, by the name of the registry. */
  metricsText: (name: string) => Promise<string> | undefined;
}

/** How a process ended; empty if there was none. */
interface Exit {
  code?: number | null;
  signal?: string | null;
}

interface LaunchOptions {
  onServing?: (platform: ServingPlatform) => void;
  /** `reason`: why it could not start, if it said so. */
  onEnded?: (reason?: string) => void;
}

/** One of the workers, whichever process that is. */
interface Place {
  readonly worker: number;
  process: Worker | undefined;
  isServing: boolean;
  hasServed: boolean;
  startedAt: number;
  pauseMs: number;
  timer: NodeJS.Timeout | undefined;
  /** Why it could not start. */
  reason: string | undefined;
  readonly asked: Map<number, (text: string) => void>;
}

/**
 * The worker processes of a server. A worker that ends is started again, soon at first and then more slowly. The first
 * one starts alone: it migrates the database and makes files, and a start that fails does so once.
 */
export class WorkerPool {
  /** Exits of workers that nobody asked for. */
  restarts = 0;
  readonly #options: WorkerPoolOptions;
  readonly #places: readonly Place[];
  readonly #counts = new SharedCounts();
  readonly #collecting = new Map<string, Promise<readonly string[]>>();
  #state: WorkersState = { haveStarted: false, pluginsUrl: undefined };
  #port: number | undefined;
  #isStopping = false;
  #isClean = true;
  #lastId = 0;
  /** Called when a worker serves or has ended. */
  #changed: () => void = () => {};

  constructor(options: WorkerPoolOptions) {
    this.#options = options;
    this.#places = Array.from({ length: options.count }, (_, i) => ({
      worker: i + 1,
      process: undefined,
      isServing: false,
      hasServed: false,
      startedAt: 0,
      pauseMs: 0,
      timer: undefined,
      reason: undefined,
      asked: new Map(),
    }));
  }

  /** Workers that serve now. */
  get serving(): number {
    return this.#places.filter(({ isServing }) => isServing).length;
  }

  /** Resolves with the first worker's addresses when all serve. @throws OperatorError if one cannot start */
  async start(): Promise<ServingPlatform> {
    // The listening sockets are shared, so a connection waits in the kernel until a worker has time for it, and this
    // process need not touch it.
    cluster.schedulingPolicy = cluster.SCHED_NONE;
    cluster.setupPrimary({ exec: process.argv[1]!, args: [workerWord], serialization: 'advanced' });
    this.#options.log.on('level-change', (level) => this.#tellAll({ kind: 'level', level: level as LevelWithSilent }));
    const [first, ...others] = this.#places;
    const platform = await this.#launchFirst(first!);
    this.#port = platform.address.port;
    await Promise.all(others.map((place) => this.#launchFirst(place)));
    this.#tellState({ haveStarted: true });
    return platform;
  }

  /** True if all workers ended cleanly. Never rejects. */
  async stop(): Promise<boolean> {
    this.#isStopping = true;
    for (const place of this.#places) clearTimeout(place.timer);
    this.#tellAll({ kind: 'stop' });
    while (this.#places.some(({ process: running }) => running !== undefined))
      await new Promise<void>((resolve) => (this.#changed = resolve));
    return this.#isClean;
  }

  #launchFirst(place: Place): Promise<ServingPlatform> {
    return new Promise((resolve, reject) => {
      this.#launch(place, {
        onServing: resolve,
        onEnded: (reason = `Worker ${place.worker} ended while it started.`) => reject(new OperatorError(reason)),
      });
    });
  }

  #launch(place: Place, { onServing = () => {}, onEnded = () => {} }: LaunchOptions = {}): void {
    const { log } = this.#options;
    place.startedAt = performance.now();
    let running: Worker;
    try {
      running = cluster.fork();
    } catch (error) {
      // Without memory, for example.
      place.reason = `a process cannot be made: ${String(error)}`;
      onEnded(place.reason);
      return this.#ended(place, undefined, {});
    }
    place.process = running;
    running.on('message', (message: MessageToParent) => {
      if (place.process === running) this.#receive(place, running, message, onServing);
    });
    const ended = (how: Exit): void => {
      onEnded(place.reason);
      this.#ended(place, running, how);
    };
    running.on('error', (error) => {
      log.warn({ err: error, worker: place.worker }, 'a worker cannot be reached');
      // It was never there; otherwise it has ended, or is about to.
      if (running.process.pid === undefined) ended({});
    });
    const silent = new Promise<void>((resolve) => running.once('disconnect', () => resolve()));
    running.once('exit', (code, signal) => {
      void isDoneWithin(finalMessagesMs, silent).then(() => ended({ code, signal }));
    });
  }

  #greet(place: Place, running: Worker): void {
    tell(running, this.#options.orderFor(place.worker, this.#port));
    tell(running, { kind: 'state', ...this.#state });
    if (this.#isStopping) tell(running, { kind: 'stop' });
  }

  #ended(place: Place, running: Worker | undefined, how: Exit): void {
    const { log } = this.#options;
    const { worker, reason } = place;
    place.process = undefined;
    place.isServing = false;
    if (running !== undefined) this.#counts.forget(running.id);
    for (const answer of place.asked.values()) answer('');
    place.asked.clear();
    if (worker === 1 && this.#state.pluginsUrl !== undefined) this.#tellState({ pluginsUrl: undefined });
    if (this.#isStopping) this.#isClean &&= how.code === 0;
    else if (place.hasServed) {
      const isLong = performance.now() - place.startedAt >= longLifeMs;
      place.pauseMs = isLong || place.pauseMs === 0 ? firstPauseMs : Math.min(2 * place.pauseMs, maxPauseMs);
      this.restarts += 1;
      log.warn(
        {
          worker,
          pid: running?.process.pid,
          ...how,
          ...(reason === undefined ? {} : { reason }),
          startsInMs: place.pauseMs,
        },
        'a worker has ended; starting it again',
      );
      place.timer = setTimeout(() => this.#launch(place), place.pauseMs);
    }
    place.reason = undefined;
    this.#changed();
  }

  #receive(
    place: Place,
    running: Worker,
    message: MessageToParent,
    onServing: (platform: ServingPlatform) => void,
  ): void {
    switch (message.kind) {
      case 'hello':
        return this.#greet(place, running);
      case 'serving':
        place.isServing = true;
        place.hasServed = true;
        this.#options.log.info({ worker: place.worker, pid: running.process.pid }, 'a worker serves');
        return onServing(message.platform);
      case 'failed':
        place.reason = message.reason;
        return;
      case 'level':
        this.#options.log.level = message.level;
        return;
      case 'plugins':
        return this.#tellState({ pluginsUrl: message.url });
      case 'enter':
        return tell(running, {
          kind: 'entered',
          id: message.id,
          refusedBy: this.#counts.enter(running.id, message.keys),
        });
      case 'leave':
        return this.#counts.leave(running.id, message.keys);
      case 'collect-metrics':
        return void this.#collect(message.name).then((texts) =>
          tell(running, { kind: 'metrics', id: message.id, texts }),
        );
      case 'metrics':
        place.asked.get(message.id)?.(message.text);
        place.asked.delete(message.id);
    }
  }

  /** The metrics of all workers that answer in time. Scrapes that come meanwhile share them. Never rejects. */
  #collect(name: string): Promise<readonly string[]> {
    const running = this.#collecting.get(name);
    if (running !== undefined) return running;
    const collecting = Promise.all([
      this.#options.metricsText(name) ?? '',
      ...this.#places.filter(({ process: worker }) => worker !== undefined).map((place) => this.#ask(place, name)),
    ]).finally(() => this.#collecting.delete(name));
    this.#collecting.set(name, collecting);
    return collecting;
  }

  async #ask(place: Place, name: string): Promise<string> {
    const id = (this.#lastId += 1);
    const answer = new Promise<string>((resolve) => place.asked.set(id, resolve));
    tell(place.process!, { kind: 'read-metrics', id, name });
    if (await isDoneWithin(metricsTimeoutMs, answer)) return answer;
    place.asked.delete(id);
    return '';
  }

  #tellState(news: Partial<WorkersState>): void {
    this.#state = { ...this.#state, ...news };
    this.#tellAll({ kind: 'state', ...this.#state });
  }

  #tellAll(message: MessageToWorker): void {
    for (const { process: running } of this.#places) if (running !== undefined) tell(running, message);
  }
}

function tell(worker: Worker, message: MessageToWorker): void {
  if (worker.isConnected()) worker.send(message, undefined, undefined, () => undefined);
}
