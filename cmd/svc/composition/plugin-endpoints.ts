import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { newServiceUnavailable, type Client } from '#pkg/apimachinery/index';
import type { EndpointDocuments } from '#pkg/apiserver/index';
import {
  chain,
  expressHandler,
  HttpServer,
  NotReadyError,
  ServiceUrl,
  withRequestId,
  withStatus,
  type EndpointGroup,
  type HealthCheck,
} from '#pkg/http/index';
import {
  loadPluginEndpoints,
  type EndpointHost,
  type Forwarder,
  type PluginHost,
  type ServedModels,
} from '#pkg/plugin/index';
import { OperatorError } from '../options/operator-error.ts';
import type { Options } from '../options/option-table.ts';
import { apiHttpOptions } from './api-http-options.ts';
import type { Teardown } from '../process/teardown.ts';
import type { PluginHostWorker, WorkerContext } from './worker-context.ts';

const syncTimeoutMs = 5000;

/**
 * The URL at which API servers in other processes reach the plugins of this process, which listens on `port`. Throws
 * OperatorError for an invalid URL.
 */
export function pluginHostUrl(options: Options, port: number): string {
  const given = unbracketed(options['svc.plugins.host-url']);
  if (given === undefined) return `http://${reachable(options['svc.server.host'])}:${port}`;
  const url = URL.canParse(given) ? new URL(given) : undefined;
  const isPlain =
    url !== undefined &&
    /^https?:$/.test(url.protocol) &&
    url.username === '' &&
    url.password === '' &&
    url.search === '' &&
    url.hash === '';
  if (!isPlain)
    throw new OperatorError(
      `svc.plugins.host-url is ${JSON.stringify(given)}, which is not the URL of a server: http://host:port or https://host:port.`,
    );
  return given;
}

/**
 * Removes the brackets around an IPv4 address: a manifest for IPv4 and IPv6 clusters adds them without knowing the
 * family of the pod's address.
 */
function unbracketed(url: string | undefined): string | undefined {
  return url?.replace(/^(https?:\/\/)\[([0-9]+(?:[.][0-9]+){3})\]/, '$1$2');
}

/** Other machines cannot connect to a wildcard address. */
function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '::') return hostname();
  return host.includes(':') ? `[${host}]` : host;
}

/** The plugin endpoints of an API server. */
export interface PluginMount {
  groups: Iterable<EndpointGroup>;
  documents: EndpointDocuments;
  readyz: HealthCheck;
}

export interface PluginMountParts {
  /** Must be able to read plugins, and to write leases of `svc-system`; closed after the teardown of this. */
  client: Client;
  models: ServedModels;
  /** Set if this process can also run plugins. */
  host: PluginHost | undefined;
  /** The URL of that host for other processes. */
  url: string;
  /** If this is one of several workers, of which one may run plugins. */
  worker: WorkerContext | undefined;
  log: Logger;
  teardown: Teardown;
}

/** Serves the endpoints of all plugins, wherever they run. */
export async function mountPluginEndpoints(
  options: Options,
  { client, models, host, url, worker, log, teardown }: PluginMountParts,
): Promise<PluginMount> {
  const { HttpForwarder, PluginEndpoints, ServerIdentity } = await loadPluginEndpoints();
  const identity = new ServerIdentity({ client, log, hostname: hostname() });
  const http = new HttpForwarder({ signer: identity, log });
  // The port of that URL leads to any worker.
  const hostOf = (target: string): string => (target === url ? (worker?.plugins?.url ?? target) : target);
  const forward: Forwarder = { forward: (target, call, signal) => http.forward(hostOf(target), call, signal) };
  const body = { limit: options['svc.api.max-body-size'], timeoutMs: options['svc.http.body-timeout'] };
  const endpoints = new PluginEndpoints({
    client,
    log,
    models,
    forward,
    body,
    url: new ServiceUrl(apiHttpOptions(options).proxies, options['svc.server.public-url']),
    local: (plugin) => (host?.runs(plugin) === true ? host : undefined),
  });
  teardown.add('endpoints of plugins', async () => {
    await Promise.all([endpoints.stop(), identity.stop()]);
    http.close();
  });
  identity.start();
  endpoints.start();
  // Usually immediate, because everything is in this process; after the timeout the process serves, but is not ready.
  await endpoints.waitForSync(AbortSignal.timeout(syncTimeoutMs));
  const hosted: EndpointGroup[] = [];
  if (host !== undefined) {
    hosted.push(await pluginHostEndpoints(client, host, url));
    if (worker?.plugins !== undefined) await listenForWorkers({ client, host, plugins: worker.plugins, log, teardown });
  } else if (worker?.plugins !== undefined) {
    const { plugins } = worker;
    const relay: EndpointHost = {
      call: (call, signal) =>
        plugins.url === undefined
          ? Promise.reject(newServiceUnavailable('the worker that runs the plugins is away'))
          : http.forward(plugins.url, call, signal),
    };
    hosted.push(await pluginHostEndpoints(client, relay, url));
  }
  const groups = {
    *[Symbol.iterator]() {
      yield* hosted;
      yield* endpoints.groups;
    },
  };
  const readyz: HealthCheck = {
    name: 'plugins',
    check: () =>
      endpoints.isSynced ? Promise.resolve() : Promise.reject(new NotReadyError('the plugins are not known yet')),
  };
  return { groups, documents: endpoints, readyz };
}

interface ListenForWorkersParts extends Pick<PluginMountParts, 'client' | 'log' | 'teardown'> {
  host: PluginHost;
  plugins: PluginHostWorker;
}

/** Serves calls from the other workers of this machine, at a port of loopback of this worker's own. */
async function listenForWorkers({ client, host, plugins, log, teardown }: ListenForWorkersParts): Promise<void> {
  const groups: EndpointGroup[] = [];
  const server = new HttpServer({ handler: chain([withRequestId(), withStatus()], expressHandler(groups)), log });
  teardown.add('calls of other workers', () => server.close({ drainTimeoutMs: 1000 }));
  const { port } = await server.listen({ host: '127.0.0.1', port: 0, isExclusive: true });
  const url = `http://127.0.0.1:${port}`;
  groups.push(await pluginHostEndpoints(client, host, url));
  plugins.announce(url);
}

/** Serves calls from API servers in other processes, which use `url`, to the plugins of `host`. */
export async function pluginHostEndpoints(client: Client, host: EndpointHost, url: string): Promise<EndpointGroup> {
  const { CallVerifier, hostEndpoints, ServerKeys } = await loadPluginEndpoints();
  return hostEndpoints({ host, verifier: new CallVerifier({ keys: new ServerKeys({ client }), host: url }) });
}
