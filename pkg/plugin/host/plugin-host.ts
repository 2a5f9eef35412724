import {
  aborted,
  equalJson,
  newServiceUnavailable,
  newUnknownPath,
  type Client,
  type Reader,
  type Stored,
  type Watcher,
} from '#pkg/apimachinery/index';
import { pluginType, type Plugin, type PluginPhase } from '#pkg/apis/index';
import {
  enqueueObject,
  type ControllerDefinition,
  type EventHandler,
  type Leadership,
  type Log,
  type Task,
  type TaskSource,
} from '#pkg/runtime/index';
import type { EndpointCall, EndpointHost, EndpointResult } from '../endpoint/endpoint-call.ts';
import { pageFileOperation } from '../pages/page-file-operation.ts';
import { freshClient } from './host-client.ts';
import { connectedPlugins } from './dependencies/connected-plugins.ts';
import { HostedPlugins, type PluginObserver } from './hosted-plugins.ts';

export interface PluginHostOptions {
  /** A client without a cache. */
  client: Reader & Watcher;
  /** Creates a client with the plugin's own user; it must work until the host's controller has stopped. */
  clientOf: (plugin: string) => Client;
  /** The folder of plugins; it need not exist. */
  dir: string;
  /** Where bundles are written. Created if missing. */
  bundleDir: string;
  log: Log;
  /** The version that `requires` is compared with. */
  platformVersion: string;
  /** Whether to restart a plugin when its files change; a new version always restarts it. Default true. */
  reload?: boolean;
  /** A plugin sees the variables that its manifest names. Default: none. */
  environment?: Readonly<Record<string, string | undefined>>;
  /** The URL at which API servers in other processes reach the endpoints of this host. */
  url?: string;
  /** Poll interval of the folder. Milliseconds, default 2 000. */
  intervalMs?: number;
  observer?: PluginObserver;
}

/** A longer name is not part of the lease's name, which has a limit. */
const maxShownName = 63;
/** A start may take as long as its manifest allows (300 s), plus the time for models and presets. Milliseconds. */
const timeoutMs = 900_000;

/**
 * Runs the plugins of a folder. Each Plugin object is a task, so that one host at a time runs it; plugins that depend on
 * one another are one group, because they start and stop in order. Plugin objects say which plugins run, and report the
 * result. When a host no longer leads a plugin its worker stops, and nothing else changes.
 */
export class PluginHost implements EndpointHost, TaskSource {
  /** Runs on every host, and reconciles the plugins that the host leads. */
  readonly controller: ControllerDefinition;
  #hosted: HostedPlugins | undefined;
  readonly #plugins = new Map<string, Stored<Plugin>>();
  readonly #leaderships = new Map<string, Leadership>();
  /** The last term of each plugin. */
  readonly #terms = new Map<string, Promise<void>>();
  #folders: Leadership | undefined;
  #onTasks: () => void = () => undefined;
  readonly #notice: EventHandler = (event) => {
    this.#note(event.type, event.object as Stored<Plugin>);
    return enqueueObject(event);
  };

  constructor({
    client,
    reload = true,
    environment = {},
    url,
    intervalMs = 2000,
    observer,
    ...options
  }: PluginHostOptions) {
    const leaderships = {
      of: (plugin: string) => this.#leaderships.get(plugin),
      ofFolders: () => this.#folders,
    };
    this.controller = {
      name: 'plugins',
      watches: [{ type: pluginType, selection: {}, handler: this.#notice, predicates: [] }],
      indexes: [],
      // A slow start or stop must not block others; the starter limits how many start at once.
      tuning: { concurrency: 256, timeoutMs },
      begin: () => {
        const hosted = new HostedPlugins({ ...options, leaderships, reload, environment, url, intervalMs, observer });
        this.#hosted = hosted;
        return {
          sources: hosted.sources,
          reconcile: (request, context) =>
            hosted.reconcile(request, { ...context, client: freshClient(context.client, client) }),
        };
      },
    };
  }

  /** Calls the function when the tasks have changed. */
  onTasks(call: () => void): void {
    this.#onTasks = call;
  }

  /** One for each Plugin object, and one that creates these objects for new folders. */
  tasks(): Task[] {
    const groups = connectedPlugins([...this.#plugins.values()]);
    const plugins = Array.from(this.#plugins.values(), ({ apiVersion, kind, metadata: { name, uid } }) => ({
      // With the uid: the lease of a new object of the same name must not begin to count anew.
      name: name.length > maxShownName ? `plugin.${uid}` : `plugin.${name}.${uid}`,
      group: `plugin.${groups.get(name)!}`,
      owner: { apiVersion, kind, name, uid },
      lead: (leadership: Leadership) => this.#lead(name, leadership),
    }));
    return [{ name: 'plugins', lead: (leadership) => this.#leadFolders(leadership) }, ...plugins];
  }

  /** A plugin that was deleted and created again has two terms, one after the other. */
  async #lead(name: string, leadership: Leadership): Promise<void> {
    const before = this.#terms.get(name)?.catch(() => undefined);
    const term = Promise.resolve(before).then(() => this.#run(name, leadership));
    this.#terms.set(name, term);
    try {
      await term;
    } finally {
      if (this.#terms.get(name) === term) this.#terms.delete(name);
    }
  }

  async #run(name: string, leadership: Leadership): Promise<void> {
    this.#leaderships.set(name, leadership);
    this.#hosted?.lead(name);
    await aborted(leadership.signal);
    await this.#hosted?.leave(name);
    this.#leaderships.delete(name);
  }

  async #leadFolders(leadership: Leadership): Promise<void> {
    this.#folders = leadership;
    this.#hosted?.leadFolders();
    await aborted(leadership.signal);
    this.#folders = undefined;
  }

  #note(type: string, plugin: Stored<Plugin>): void {
    const { name } = plugin.metadata;
    const before = this.#plugins.get(name);
    if (type === 'delete') this.#plugins.delete(name);
    else this.#plugins.set(name, plugin);
    this.#hosted?.onPluginChange(plugin);
    const isSame =
      type !== 'delete' &&
      before?.metadata.uid === plugin.metadata.uid &&
      equalJson(before.spec.dependencies ?? {}, plugin.spec.dependencies ?? {});
    if (!isSame) this.#onTasks();
  }

  /** Whether a worker of this plugin runs in this process. */
  runs(plugin: string): boolean {
    return this.#hosted?.runs(plugin) === true;
  }

  async call(call: EndpointCall, signal: AbortSignal): Promise<EndpointResult> {
    if (call.operationId === pageFileOperation) return this.#pageFile(call);
    const worker = this.#hosted?.workerFor(call);
    if (worker === undefined) throw newServiceUnavailable(`the plugin ${call.plugin} does not run at present`, 5);
    return worker.call(call, signal);
  }

  async #pageFile({ plugin, params: { hash = '', path = '', coding } }: EndpointCall): Promise<EndpointResult> {
    const file = await this.#hosted?.filesOf(plugin, hash)?.find(path, { gzipped: coding === 'gzip' });
    if (file === undefined) throw newUnknownPath();
    return { status: 200, headers: file.isGzipped ? { 'content-encoding': 'gzip' } : {}, file: file.body };
  }

  /** Names of this process's plugins whose controllers do not run or whose reconciles fail. */
  unhealthyPlugins(): string[] {
    return this.#hosted?.unhealthyPlugins ?? [];
  }

  /** The number of plugins in each phase; empty if this process does not lead. */
  phases(): Map<PluginPhase, number> {
    const counts = new Map<PluginPhase, number>();
    for (const phase of this.#hosted?.phases ?? []) counts.set(phase, (counts.get(phase) ?? 0) + 1);
    return counts;
  }
}
