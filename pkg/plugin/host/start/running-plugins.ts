import { pause } from '#pkg/apimachinery/index';
import type { PluginSpec } from '#pkg/apis/index';
import type { EndpointCall } from '../../endpoint/endpoint-call.ts';
import { endpointRoute } from '../../endpoint/endpoint-path.ts';
import type { PluginFiles } from '../../pages/plugin-files.ts';
import type { PluginCrash, PluginWorker } from '../../worker/plugin-worker.ts';
import { dependsOn } from '../dependencies/dependencies.ts';
import type { ConditionChange } from '../record/plugin-conditions.ts';
import { workerStopMs, type PreparedPlugin } from './start-plugin.ts';

/** How long API servers in other processes take to notice a change: 500 ms if no notification arrives. Milliseconds. */
const changePropagationMs = 1000;

export interface RunningPlugin {
  readonly worker: PluginWorker;
  /** Fingerprint of its folder when the folder last matched the running version. */
  seen: string;
  /** Its presets and pages may change while its worker goes on. */
  prepared: PreparedPlugin;
  /** From its own manifest: the Plugin object may have the spec of newer files. */
  readonly spec: PluginSpec;
  /** Identifies its files and spec; see RetryTimes. */
  input: string;
  /** By `performance.now()`. */
  readonly since: number;
  /** The previous worker, for endpoints that only it has, until no API server knows them any more. */
  before?: PluginWorker;
  /** Newer files that could not be started, and why. */
  refused?: { fingerprint: string; condition: ConditionChange };
}

/** The workers of this process, by the names of their plugins. */
export class RunningPlugins {
  readonly #plugins = new Map<string, RunningPlugin>();
  readonly #onCrash: (name: string, crash: PluginCrash, plugin: RunningPlugin) => void;
  readonly #offered = new Map<string, PluginFiles>();
  #isOver = false;

  /** @param onCrash called after a worker ended by itself and was removed */
  constructor(onCrash: (name: string, crash: PluginCrash, plugin: RunningPlugin) => void) {
    this.#onCrash = onCrash;
  }

  /** Plugins whose controllers do not run or whose reconciles fail. */
  get unhealthy(): string[] {
    return Array.from(this.#plugins).flatMap(
      ([
        name,
        {
          worker: { health },
        },
      ]) => (health.controllers === undefined && health.reconciles === undefined ? [] : [name]),
    );
  }

  get names(): string[] {
    return [...this.#plugins.keys()];
  }

  get(name: string): RunningPlugin | undefined {
    return this.#plugins.get(name);
  }

  has(name: string): boolean {
    return this.#plugins.has(name);
  }

  /** Serves the files of a version from before its pages name them. */
  offer(name: string, files: PluginFiles): void {
    this.#offered.set(name, files);
  }

  /** The files of this content: of the newest version, or of the running one if that goes on. */
  filesOf(name: string, hash: string): PluginFiles | undefined {
    return [this.#offered.get(name), this.#plugins.get(name)?.prepared.files].find((files) => files?.hash === hash);
  }

  /** The worker that has the endpoint. */
  workerFor({ plugin, operationId, endpoint }: EndpointCall): PluginWorker | undefined {
    const running = this.#plugins.get(plugin);
    const has = (worker: PluginWorker): boolean =>
      worker.description.endpoints.some((each) => each.operationId === operationId && endpointRoute(each) === endpoint);
    return running?.before !== undefined && !has(running.worker) && has(running.before)
      ? running.before
      : running?.worker;
  }

  /** Adds the worker, or replaces the one of that name. After `end` it stops the worker and returns false. */
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
   * Stops the worker that `plugin` has replaced, once no API server calls endpoints that only that worker has. Never
   * rejects.
   */
  async endBefore(name: string, plugin: RunningPlugin, signal: AbortSignal): Promise<void> {
    const { before, worker } = plugin;
    if (before === undefined) return;
    const routes = new Set(worker.description.endpoints.map(endpointRoute));
    const isMissed = before.description.endpoints.some((endpoint) => !routes.has(endpointRoute(endpoint)));
    if (isMissed && this.#plugins.get(name) === plugin) await pause(changePropagationMs, signal);
    delete plugin.before;
    await before.stop(workerStopMs);
  }

  async stop(name: string): Promise<void> {
    const plugin = this.#plugins.get(name);
    this.#plugins.delete(name);
    this.#offered.delete(name);
    await plugin?.worker.stop(workerStopMs);
  }

  /** Stops all, each after its dependents; later workers are refused. */
  async end(): Promise<void> {
    this.#isOver = true;
    const all = new Map(this.#plugins);
    this.#plugins.clear();
    this.#offered.clear();
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
    this.#offered.delete(name);
    this.#onCrash(name, crash, plugin);
  }
}
