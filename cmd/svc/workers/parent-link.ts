import cluster, { type Worker } from 'node:cluster';
import type { LevelWithSilent, Logger } from 'pino';
import type { Registry } from 'prom-client';
import { NotReadyError, type AddressCounter, type CountedWatch, type WatchLimits } from '#pkg/http/index';
import type { PluginHostWorker, WorkerContext } from '../composition/worker-context.ts';
import { mergeMetrics } from './merge-metrics.ts';
import type {
  LimitedKey,
  MessageToParent,
  MessageToWorker,
  ServingPlatform,
  StartOrder,
  WorkersState,
} from './worker-messages.ts';

/** A worker's connection to its parent process. It ends with the parent, and with it the worker (`node:cluster`). */
export class ParentLink {
  /** What the parent wants to be started. */
  readonly order: Promise<StartOrder>;
  /** Resolves when this worker has to stop. */
  readonly stopAsked: Promise<void>;
  readonly #worker: Worker;
  readonly #registries = new Map<string, Registry>();
  readonly #entering = new Map<number, (refusedBy: number | undefined) => void>();
  readonly #collecting = new Map<number, (texts: readonly string[]) => void>();
  #state: WorkersState = { haveStarted: false, pluginsUrl: undefined };
  #log: Logger | undefined;
  /** The level that the parent knows. */
  #level: LevelWithSilent | undefined;
  #lastId = 0;
  #startWith!: (order: StartOrder) => void;
  #stop!: () => void;

  /** Throws outside of a worker. */
  constructor() {
    if (cluster.worker === undefined) throw new Error('this process is no worker');
    this.#worker = cluster.worker;
    this.order = new Promise((resolve) => (this.#startWith = resolve));
    this.stopAsked = new Promise((resolve) => (this.#stop = resolve));
    this.#worker.on('message', (message: MessageToWorker) => this.#receive(message));
    this.#send({ kind: 'hello' });
  }

  /** Each change of the level of this log is one of all workers, and the other way round. */
  shareLevel(log: Logger): void {
    this.#log = log;
    this.#level = log.level as LevelWithSilent;
    log.on('level-change', () => {
      const level = log.level as LevelWithSilent;
      if (level === this.#level) return;
      this.#level = level;
      this.#send({ kind: 'level', level });
    });
  }

  context(order: StartOrder): WorkerContext {
    const { worker, of, hasPlugins, connections, embedded, port, hostIdentity, gone } = order;
    return {
      of,
      connections,
      embedded,
      port,
      hostIdentity,
      isGone: (identity) => gone.includes(identity),
      readyz: {
        name: 'workers',
        check: async () => {
          if (!this.#state.haveStarted) throw new NotReadyError('the workers of this server are starting');
        },
      },
      watches: { enter: (user, limits) => this.#enterWatch(user, limits) },
      addresses: (listener) => this.#addressCounter(listener),
      metricsText: (name, registry) => {
        registry.setDefaultLabels({ worker: String(worker) });
        this.#registries.set(name, registry);
        return () => this.#collectMetrics(name);
      },
      plugins: hasPlugins ? this.#pluginWorker() : undefined,
    };
  }

  serving({ address, tlsAddress, access, hasConsole, tokenFile }: ServingPlatform): void {
    const at = access === undefined ? undefined : { address: access.address, tlsAddress: access.tlsAddress };
    this.#send({ kind: 'serving', platform: { address, tlsAddress, access: at, hasConsole, tokenFile } });
  }

  /** Resolves when the parent has been told. */
  failed(reason: string): Promise<void> {
    return new Promise((resolve) => this.#send({ kind: 'failed', reason }, () => resolve()));
  }

  #send(message: MessageToParent, done?: () => void): void {
    // A parent that is gone ends this process.
    if (!this.#worker.isConnected()) return;
    this.#worker.process.send(message, undefined, undefined, () => done?.());
  }

  #receive(message: MessageToWorker): void {
    switch (message.kind) {
      case 'start':
        return this.#startWith(message);
      case 'stop':
        return this.#stop();
      case 'state':
        this.#state = message;
        return;
      case 'level':
        this.#level = message.level;
        if (this.#log !== undefined) this.#log.level = message.level;
        return;
      case 'entered':
        this.#entering.get(message.id)?.(message.refusedBy);
        this.#entering.delete(message.id);
        return;
      case 'read-metrics':
        return void this.#readMetrics(message);
      case 'metrics':
        this.#collecting.get(message.id)?.(message.texts);
        this.#collecting.delete(message.id);
    }
  }

  /** Resolves with the index of the key whose limit refuses. */
  #enter(keys: readonly LimitedKey[]): Promise<number | undefined> {
    const id = (this.#lastId += 1);
    return new Promise((resolve) => {
      this.#entering.set(id, resolve);
      this.#send({ kind: 'enter', id, keys });
    });
  }

  async #enterWatch(
    user: string,
    { watches = Infinity, watchesPerUser = Infinity }: WatchLimits,
  ): Promise<CountedWatch> {
    const keys = [
      { key: 'watches', limit: watches, by: 'watches' as const },
      { key: `watches/${user}`, limit: watchesPerUser, by: 'user_watches' as const },
    ];
    const refusedBy = await this.#enter(keys.map(({ key, limit }) => ({ key, limit })));
    if (refusedBy !== undefined) return keys[refusedBy]!.by;
    return () => this.#send({ kind: 'leave', keys: keys.map(({ key }) => key) });
  }

  #pluginWorker(): PluginHostWorker {
    const url = (): string | undefined => this.#state.pluginsUrl;
    return {
      get url() {
        return url();
      },
      announce: (at) => this.#send({ kind: 'plugins', url: at }),
    };
  }

  #addressCounter(listener: string): AddressCounter {
    const keyOf = (network: string): string => `connections/${listener}/${network}`;
    return {
      enter: async (network, limit) => (await this.#enter([{ key: keyOf(network), limit }])) === undefined,
      leave: (network) => this.#send({ kind: 'leave', keys: [keyOf(network)] }),
    };
  }

  async #collectMetrics(name: string): Promise<string> {
    const id = (this.#lastId += 1);
    const texts = await new Promise<readonly string[]>((resolve) => {
      this.#collecting.set(id, resolve);
      this.#send({ kind: 'collect-metrics', id, name });
    });
    return mergeMetrics(texts);
  }

  async #readMetrics({ id, name }: { id: number; name: string }): Promise<void> {
    const text = (await this.#registries.get(name)?.metrics()) ?? '';
    this.#send({ kind: 'metrics', id, text });
  }
}
