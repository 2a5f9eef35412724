import { hostname } from 'node:os';
import type { Logger } from 'pino';
import type { Client } from '#pkg/apimachinery/index';
import type { EndpointDocuments } from '#pkg/apiserver/index';
import { NotReadyError, ServiceUrl, type EndpointGroup, type HealthCheck } from '#pkg/http/index';
import { loadPluginEndpoints, type PluginHost, type ServedModels } from '#pkg/plugin/index';
import { OperatorError } from '../options/operator-error.ts';
import type { Options } from '../options/option-table.ts';
import { apiHttpOptions } from './api-http-options.ts';
import type { Teardown } from '../process/teardown.ts';

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
  log: Logger;
  teardown: Teardown;
}

/** Serves the endpoints of all plugins, wherever they run. */
export async function mountPluginEndpoints(
  options: Options,
  { client, models, host, url, log, teardown }: PluginMountParts,
): Promise<PluginMount> {
  const { HttpForwarder, PluginEndpoints, ServerIdentity } = await loadPluginEndpoints();
  const identity = new ServerIdentity({ client, log, hostname: hostname() });
  const forward = new HttpForwarder({ signer: identity, log });
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
    forward.close();
  });
  identity.start();
  endpoints.start();
  // Usually immediate, because everything is in this process; after the timeout the process serves, but is not ready.
  await endpoints.waitForSync(AbortSignal.timeout(syncTimeoutMs));
  const hosted = host === undefined ? [] : [await pluginHostEndpoints(client, host, url)];
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

/** Serves calls from API servers in other processes, which use `url`, to the plugins of this process. */
export async function pluginHostEndpoints(client: Client, host: PluginHost, url: string): Promise<EndpointGroup> {
  const { CallVerifier, hostEndpoints, ServerKeys } = await loadPluginEndpoints();
  return hostEndpoints({ host, verifier: new CallVerifier({ keys: new ServerKeys({ client }), host: url }) });
}
