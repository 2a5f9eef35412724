import { newServiceUnavailable, type Client, type Reader, type Watcher } from '#pkg/apimachinery/index';
import { pluginType, type Plugin, type PluginPhase } from '#pkg/apis/index';
import { enqueueObject, type ControllerDefinition, type EventHandler, type Log } from '#pkg/runtime/index';
import type { EndpointCall, EndpointHost, EndpointResult } from '../endpoint/endpoint-call.ts';
import { freshClient } from './host-client.ts';
import { LeaderTerm, type PluginObserver } from './leader-term.ts';

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

/** A start may take as long as its manifest allows (300 s), plus the time for models and presets. Milliseconds. */
const timeoutMs = 900_000;

/**
 * Runs the plugins of a folder while its controller runs, so in one process at a time. Plugin objects say which plugins
 * run, and report the result. When the controller stops, because the process ends or loses leadership, the workers stop
 * too, and nothing else changes.
 */
export class PluginHost implements EndpointHost {
  /** For a Manager, together with the platform's own controllers. */
  readonly controller: ControllerDefinition;
  #term: LeaderTerm | undefined;
  readonly #notice: EventHandler = (event) => {
    this.#term?.onPluginChange(event.object as Plugin);
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
    this.controller = {
      name: 'plugins',
      watches: [{ type: pluginType, selection: {}, handler: this.#notice, predicates: [] }],
      indexes: [],
      // A slow start or stop must not block others; the starter limits how many start at once.
      tuning: { concurrency: 256, timeoutMs },
      begin: () => {
        const term = new LeaderTerm({ ...options, reload, environment, url, intervalMs, observer });
        this.#term = term;
        return {
          sources: term.sources,
          reconcile: (request, context) =>
            term.reconcile(request, { ...context, client: freshClient(context.client, client) }),
        };
      },
    };
  }

  /** Whether a worker of this plugin runs in this process. */
  runs(plugin: string): boolean {
    return this.#term?.runs(plugin) === true;
  }

  async call(call: EndpointCall, signal: AbortSignal): Promise<EndpointResult> {
    const worker = this.#term?.workerFor(call);
    if (worker === undefined) throw newServiceUnavailable(`the plugin ${call.plugin} does not run at present`, 5);
    return worker.call(call, signal);
  }

  /** Names of this process's plugins whose controllers do not run or whose reconciles fail. */
  unhealthyPlugins(): string[] {
    return this.#term?.unhealthyPlugins ?? [];
  }

  /** The number of plugins in each phase; empty if this process does not lead. */
  phases(): Map<PluginPhase, number> {
    const counts = new Map<PluginPhase, number>();
    for (const phase of this.#term?.phases ?? []) counts.set(phase, (counts.get(phase) ?? 0) + 1);
    return counts;
  }
}
