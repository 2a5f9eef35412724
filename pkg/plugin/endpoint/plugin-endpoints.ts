import { Router, type Request } from 'express';
import {
  newBadRequest,
  newUnknownPath,
  newPathMethodNotAllowed,
  untilAborted,
  type Reader,
  type Watcher,
} from '#pkg/apimachinery/index';
import { pluginType, type Plugin, type PluginEndpoint, type PluginPhase } from '#pkg/apis/index';
import {
  contextOf,
  ServiceUrl,
  TrustedProxies,
  type EndpointGroup,
  type ReadBodyOptions,
  type RequestContext,
} from '#pkg/http/index';
import { Informer, type Log } from '#pkg/runtime/index';
import { AnswerSizes } from './answer-sizes.ts';
import { documentMounted, type MountedDocument } from './document-mounted.ts';
import type { EndpointCall, EndpointHost, EndpointResult } from './endpoint-call.ts';
import { EndpointTable, type PathEndpoints, type EndpointMatch, type MountedEndpoint } from './endpoint-tree.ts';
import { endpointViolation } from './endpoint-violation.ts';
import type { Forwarder } from './forwarder.ts';
import { isModelPath, type ServedModels } from './model-path.ts';
import { pageFilesGroup } from './page-files.ts';
import { newEndpointUnavailable, publicFailure } from './public-failure.ts';
import { readEndpointCall } from './read-endpoint-call.ts';
import { sendResult } from './send-result.ts';

export interface PluginEndpointsOptions {
  client: Reader & Watcher;
  log: Log;
  /** Paths of models take precedence over endpoints, whichever came first. */
  models: ServedModels;
  /** The host in this process, if it runs the plugin. */
  local?: (plugin: string) => EndpointHost | undefined;
  /** Forwards to the host in another process. */
  forward: Forwarder;
  body?: ReadBodyOptions;
  /** The URL of this API server, for the policy of pages. Default: as the Host header says. */
  url?: Pick<ServiceUrl, 'originOf'>;
}

/**
 * The endpoints of all started plugins, as this API server serves them: it watches the Plugin objects and mounts what
 * their status says. Paths without an endpoint pass through, whatever their prefix; the path of a model is never an
 * endpoint's. If two plugins claim a path, the first by name has it; plugin starts prevent that
 * (`findEndpointConflicts`).
 */
export class PluginEndpoints {
  readonly #options: PluginEndpointsOptions;
  readonly #informer: Informer<Plugin>;
  readonly #sizes = new AnswerSizes();
  /** The mounted endpoints of each plugin, as text: most status changes do not affect them. */
  readonly #mounted = new Map<string, string>();
  #groups = new Map<string, EndpointGroup>();
  #table: EndpointTable | undefined;
  #documents: { generation: number; made: readonly MountedDocument[] } | undefined;
  #generation = 0;

  /** Evaluated for each request. */
  readonly groups: Iterable<EndpointGroup>;

  constructor(options: PluginEndpointsOptions) {
    this.#options = options;
    const pageFiles = pageFilesGroup({
      url: options.url ?? new ServiceUrl(new TrustedProxies([])),
      call: (context, call) => this.#callPluginOf(call, context),
    });
    this.groups = {
      [Symbol.iterator]: () => {
        this.#current();
        return [pageFiles, ...this.#groups.values()].values();
      },
    };
    this.#informer = new Informer({ client: options.client, type: pluginType, log: options.log });
    this.#informer.listen(({ type, object }) =>
      this.#note(object.metadata.name, type === 'delete' ? [] : mountedOf(object)),
    );
  }

  /** Increases with every change of the mounted endpoints or of the models. */
  get generation(): number {
    return this.#generation + this.#options.models.generation;
  }

  /** The mounted endpoints, for the API reference. */
  documents(): Iterable<MountedDocument> {
    const { generation } = this;
    if (this.#documents?.generation !== generation)
      this.#documents = {
        generation,
        made: documentMounted(this.#current(), ({ path }) => !isModelPath(this.#options.models, path)),
      };
    return this.#documents.made;
  }

  /** Whether all existing plugins are known. Until then their paths are unknown. */
  get isSynced(): boolean {
    return this.#informer.isSynced;
  }

  start(): void {
    this.#informer.start();
  }

  /** Resolves true once `isSynced`; false if it stops or `signal` fires before. */
  waitForSync(signal: AbortSignal): Promise<boolean> {
    return this.#informer.waitForSync(signal);
  }

  /** Call it before the client is closed. */
  stop(): Promise<void> {
    return this.#informer.stop();
  }

  #note(plugin: string, endpoints: readonly PluginEndpoint[]): void {
    const text = endpoints.length === 0 ? undefined : JSON.stringify(endpoints);
    if (this.#mounted.get(plugin) === text) return;
    if (text === undefined) this.#mounted.delete(plugin);
    else this.#mounted.set(plugin, text);
    this.#table = undefined;
    this.#generation += 1;
  }

  #current(): EndpointTable {
    if (this.#table !== undefined) return this.#table;
    const table = new EndpointTable();
    for (const plugin of [...this.#mounted.keys()].toSorted()) this.#mount(table, plugin);
    this.#table = table;
    this.#groups = new Map(
      Array.from(table.trees.keys(), (prefix) => [prefix, this.#groups.get(prefix) ?? this.#groupOf(prefix)]),
    );
    return table;
  }

  #mount(table: EndpointTable, plugin: string): void {
    const object = this.#informer.indexer.get({ namespace: '', name: plugin });
    for (const endpoint of object === undefined ? [] : mountedOf(object)) {
      const violation = endpointViolation(endpoint);
      const holder = violation === undefined ? table.add({ plugin, endpoint }) : undefined;
      if (violation !== undefined)
        this.#options.log.warn({ plugin, operation: endpoint.operationId, violation }, 'could not mount an endpoint');
      if (holder !== undefined)
        this.#options.log.warn(
          { plugin, operation: endpoint.operationId, holder: holder.plugin },
          'an endpoint is not mounted: another endpoint has its path',
        );
    }
  }

  #groupOf(prefix: string): EndpointGroup {
    const find = (path: string): EndpointMatch | undefined => {
      const found = this.#current().trees.get(prefix)?.find(path);
      return found === undefined || isModelPath(this.#options.models, path) ? undefined : found;
    };
    const serve = async (context: RequestContext): Promise<void> => {
      const found = find(context.info.path);
      if (found === undefined) throw newUnknownPath();
      context.route = found.place.path;
      await this.#serve(context, methodOf(context, found.place), found.params);
    };
    const router = Router();
    router.use((request: Request) => serve(contextOf(request)));
    return { prefix, router, owns: (path) => find(path) !== undefined, isOpen: prefix.startsWith('/apis/api.') };
  }

  async #serve(context: RequestContext, mounted: MountedEndpoint, params: Record<string, string>): Promise<void> {
    // A watch would have no timeout, and would be counted as a watch.
    if (context.info.verb === 'watch') throw newBadRequest("watch is not supported here: this endpoint is a plugin's");
    this.#checkRuns(mounted.plugin);
    const call = await readEndpointCall(context, mounted, params, this.#options.body ?? {});
    await sendResult(context, await this.#ask(call, context));
  }

  /** A plugin that is not known, or disabled, has no files. */
  async #callPluginOf(call: EndpointCall, context: RequestContext): Promise<EndpointResult> {
    const phase = this.#phaseOf(call.plugin);
    if (phase === undefined || phase === 'Disabled') throw newUnknownPath();
    this.#checkRuns(call.plugin);
    return this.#ask(call, context);
  }

  #phaseOf(plugin: string): PluginPhase | undefined {
    return this.#informer.indexer.get({ namespace: '', name: plugin })?.status?.phase;
  }

  #checkRuns(plugin: string): void {
    const phase = this.#phaseOf(plugin);
    if (phase !== 'Started' && phase !== 'Stopping') throw newEndpointUnavailable();
  }

  async #ask(call: EndpointCall, context: RequestContext): Promise<EndpointResult> {
    await context.bytes.admit(this.#sizes.expected(call));
    let result: EndpointResult;
    try {
      result = await untilAborted(this.#call(call, context.signal), context.signal);
    } catch (error) {
      throw context.signal.aborted ? error : publicFailure(error);
    }
    const size = this.#sizes.learn(call, result);
    context.bytes.raiseTo(size);
    context.bytes.lowerTo(size);
    return result;
  }

  #call(call: EndpointCall, signal: AbortSignal): Promise<EndpointResult> {
    const { local, forward } = this.#options;
    const host = local?.(call.plugin);
    if (host !== undefined) return host.call(call, signal);
    const url = this.#informer.indexer.get({ namespace: '', name: call.plugin })?.status?.host?.url;
    if (url === undefined) return Promise.reject(newEndpointUnavailable());
    return forward.forward(url, call, signal);
  }
}

/** A failed plugin keeps its paths: they answer 503 with Retry-After. */
function mountedOf({ status }: Plugin): readonly PluginEndpoint[] {
  return status?.phase === 'Disabled' ? [] : (status?.endpoints ?? []);
}

/** @throws StatusError 405, with the header Allow set */
function methodOf({ request, response }: RequestContext, { byMethod }: PathEndpoints): MountedEndpoint {
  const method = request.method === 'HEAD' ? 'GET' : (request.method ?? '');
  const mounted = byMethod.get(method);
  if (mounted !== undefined) return mounted;
  response.setHeader(
    'Allow',
    [...byMethod.keys()].flatMap((each) => (each === 'GET' ? ['GET', 'HEAD'] : [each])).join(', '),
  );
  throw newPathMethodNotAllowed();
}
