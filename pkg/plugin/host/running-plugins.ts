import { pause } from '#pkg/apimachinery/index';
import type { PluginSpec } from '#pkg/apis/index';
import type { EndpointCall } from '../endpoint/endpoint-call.ts';
import { endpointRoute } from '../endpoint/endpoint-path.ts';
import type { PluginCrash, PluginWorker } from '../worker/plugin-worker.ts';
import { dependsOn } from './dependencies.ts';
import type { ConditionChange } from './plugin-conditions.ts';
import { workerStopMs, type PreparedPlugin } from './start-plugin.ts';

/** For API servers in other processes to hear of a change: 500 ms where no notification comes. Milliseconds. */
const newsMs = 1000;

export interface RunningPlugin {
  readonly worker: PluginWorker;
  /** Fingerprint of its folder when that was last found to hold what it was made of. */
  seen: string;
  readonly prepared: PreparedPlugin;
  /** As its manifest had it: the Plugin's own may be that of newer files. */
  readonly spec: PluginSpec;
  /** What it was started with; see RetryTimes. */
  readonly input: string;
  /** By the clock of `performance`. */
  readonly since: number;
  /** The worker before it, for calls of endpoints that only it has, until no API server knows of them any more. */
  before?: PluginWorker;
  /** Newer files that cannot be run, and why. */
  refused?: { fingerprint: string; condition: ConditionChange };
}

/** The workers of this process, by the names of their plugins. */
export class RunningPlugins {
  readonly #plugins = new Map<string, RunningPlugin>();
  readonly #onCrash: (name: string, crash: PluginCrash, plugin: RunningPlugin) => void;
  #isOver = false;

  /** @param onCrash one ended by itself; it is no longer here */
  constructor(onCrash: (name: string, crash: PluginCrash, plugin: RunningPlugin) => void) {
    this.#onCrash = onCrash;
  }

  /** Whose controllers do not do as they should. */
  get troubled(): string[] {
    return Array.from(this.#plugins).flatMap(
      ([
        name,
        {
          worker: { health },
        },
      ]) => (health.controllers === undefined && health.reconciles === undefined ? [] : [name]),
    );
  }

  get(name: string): RunningPlugin | undefined {
    return this.#plugins.get(name);
  }

  has(name: string): boolean {
    return this.#plugins.has(name);
  }

  /** That which has the endpoint. */
  workerFor({ plugin, operationId, endpoint }: EndpointCall): PluginWorker | undefined {
    const running = this.#plugins.get(plugin);
    const has = (worker: PluginWorker): boolean =>
      worker.description.endpoints.some((each) => each.operationId === operationId && endpointRoute(each) === endpoint);
    return running?.before !== undefined && !has(running.worker) && has(running.before)
      ? running.before
      : running?.worker;
  }

  /**
   * In the place of the one of that name, if there is one. Stops the worker, and answers false, where no plugins are to
   * run any more.
   */
  async add(name: string, plugin: RunningPlugin): Promise<boolean> {
    if (this.#isOver) {
      await plugin.worker.stop(workerStopMs);
      return false;
    }
    this.#plugins.set(name, plugin);
    void this.#awaitEnd(name, plugin);
    return true;
  }

  /**
   * Ends the worker that `plugin` has taken the place of, when no API server asks for what only that one has. Never
   * rejects.
   */
  async endBefore(name: string, plugin: RunningPlugin, signal: AbortSignal): Promise<void> {
    const { before, worker } = plugin;
    if (before === undefined) return;
    const routes = new Set(worker.description.endpoints.map(endpointRoute));
    const isMissed = before.description.endpoints.some((endpoint) => !routes.has(endpointRoute(endpoint)));
    if (isMissed && this.#plugins.get(name) === plugin) await pause(newsMs, signal);
    delete plugin.before;
    await before.stop(workerStopMs);
  }

  async stop(name: string): Promise<void> {
    const plugin = this.#plugins.get(name);
    this.#plugins.delete(name);
    await plugin?.worker.stop(workerStopMs);
  }

  /** Stops all, each after those that depend on it; none is added afterwards. */
  async end(): Promise<void> {
    this.#isOver = true;
    const all = new Map(this.#plugins);
    this.#plugins.clear();
    const stopping = new Map<string, Promise<void>>();
    const stop = (name: string): Promise<void> => {
      const present = stopping.get(name);
      if (present !== undefined) return present;
      const dependents = Array.from(all).filter(([, plugin]) => dependsOn(plugin, name));
      const stopped = Promise.all(dependents.map(([each]) => stop(each))).then(() =>
        all.get(name)!.worker.stop(workerStopMs),
      );
      stopping.set(name, stopped);
      return stopped;
    };
    await Promise.all(Array.from(all.keys(), stop));
  }

  async #awaitEnd(name: string, plugin: RunningPlugin): Promise<void> {
    const crash = await plugin.worker.ended;
    if (this.#plugins.get(name) !== plugin) return;
    this.#plugins.delete(name);
    this.#onCrash(name, crash, plugin);
  }
}
