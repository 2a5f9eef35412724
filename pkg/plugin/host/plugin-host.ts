import { newServiceUnavailable, type Client, type Reader, type Watcher } from '#pkg/apimachinery/index';
import { pluginType, type Plugin, type PluginPhase } from '#pkg/apis/index';
import { enqueueObject, type ControllerDefinition, type EventHandler, type Log } from '#pkg/runtime/index';
import type { EndpointCall, EndpointHost, EndpointResult } from '../endpoint/endpoint-call.ts';
import { freshClient } from './fresh-client.ts';
import { LeaderTerm, type PluginObserver } from './leader-term.ts';

export interface PluginHostOptions {
  /** The API without a cache between. */
  client: Reader & Watcher;
  /** The API as a plugin's own user; it must work until the host's controller has stopped. */
  clientOf: (plugin: string) => Client;
  /** The folder of plugins; it need not exist. */
  dir: string;
  /** Where bundles are written. Made where it is not there. */
  bundleDir: string;
  log: Log;
  /** What `requires` is compared with. */
  platformVersion: string;
  /** Start a plugin anew when its files change? Another version always is. Default true. */
  reload?: boolean;
  /** Of which a plugin sees what its manifest names. Default: nothing. */
  environment?: Readonly<Record<string, string | undefined>>;
  /** Where endpoints of this host are to be had, for API servers in other processes. */
  url?: string;
  /** Between two looks at the folder. Milliseconds, default 2 000. */
  intervalMs?: number;
  observer?: PluginObserver;
}

/** A start may take as long as its manifest allows (300 s), and models and presets their time. Milliseconds. */
const timeoutMs = 900_000;

/**
 * Runs the plugins of a folder where its controller runs, so on one process of all. Plugin objects say which are to run
 * and tell what came of it. When the controller stops, because the process ends or no longer leads, so do the workers,
 * and nothing else changes.
 */
export class PluginHost implements EndpointHost {
  /** For a Manager, with the platform's own. */
  readonly controller: ControllerDefinition;
  #term: LeaderTerm | undefined;
  readonly #notice: EventHandler = (event) => {
    this.#term?.notice(event.object as Plugin);
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
      // A start or a stop may take its time, and must keep no other waiting; how many start at once is the starter's to
      // say.
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

  /** Does a worker of this plugin run here? */
  runs(plugin: string): boolean {
    return this.#term?.runs(plugin) === true;
  }

  async call(call: EndpointCall, signal: AbortSignal): Promise<EndpointResult> {
    const worker = this.#term?.workerFor(call);
    if (worker === undefined) throw newServiceUnavailable(`the plugin ${call.plugin} does not run at present`, 5);
    return worker.call(call, signal);
  }

  /** Names of the plugins here whose controllers do not run, or have reconciles that fail. */
  troubled(): string[] {
    return this.#term?.troubled ?? [];
  }

  /** How many plugins are in which phase; nothing where this process does not lead. */
  phases(): Map<PluginPhase, number> {
    const counts = new Map<PluginPhase, number>();
    for (const phase of this.#term?.phases ?? []) counts.set(phase, (counts.get(phase) ?? 0) + 1);
    return counts;
  }
}
