import type { AddressInfo } from 'node:net';
import { Registry } from 'prom-client';
import type { Logger } from 'pino';
import type { Client } from '#pkg/apimachinery/index';
import { namespaceModel, pluginsGroup, pluginUser, systemNamespace } from '#pkg/apis/index';
import { RestClient, type ConnectOptions } from '#pkg/client/index';
import {
  BearerAuthenticator,
  chain,
  expressHandler,
  healthEndpoints,
  logLevelEndpoint,
  HttpServer,
  isOpenEndpoint,
  isSameToken,
  registerByteBudgetMetrics,
  withAuthentication,
  withLogging,
  withMetrics,
  withRequestId,
  withScrapeToken,
  withSecurityHeaders,
  withStatus,
  type EndpointGroup,
  type HealthCheck,
} from '#pkg/http/index';
import { systemMasters, type TokenAuthenticator } from '#pkg/identity/index';
import { apiHttpOptions } from '../composition/api-http-options.ts';
import { newByteBudget } from '../process/byte-budget.ts';
import { checkFileModes } from '../composition/file-modes.ts';
import { newLogger } from '../process/logger.ts';
import { ControllerMetrics } from '../metrics/controller-metrics.ts';
import { PluginMetrics } from '../metrics/plugin-metrics.ts';
import { registerProcessMetrics } from '../metrics/process-metrics.ts';
import type { LoadedOptions } from '../options/load-options.ts';
import type { Options } from '../options/option-table.ts';
import { PluginClients } from '../composition/plugin-clients.ts';
import { pluginHostEndpoints, pluginHostUrl } from '../composition/plugin-endpoints.ts';
import { runUntilSignal, type Running } from '../process/run-until-signal.ts';
import { explainListenFailure } from '../process/start-failure.ts';
import { pluginHost, type Environment } from '../composition/start-plugins.ts';
import { platformControllers } from '../composition/platform-controllers.ts';
import { openScrapeToken } from '../composition/open-scrape-token.ts';
import { platformServer } from '../composition/platform-server.ts';
import { readTokenFile } from '../composition/read-token-file.ts';
import { svcBuild, svcVersion } from '../process/svc-version.ts';
import { Teardown } from '../process/teardown.ts';

/** The part of the drain timeout that running reconciles may take. */
const reconcileShare = 0.8;

/**
 * Runs the platform's controllers and plugins against a server in another process, until a signal; returns the exit
 * code. Throws OperatorError if it cannot start.
 */
export async function controllerManager(loaded: LoadedOptions, environment: Environment): Promise<number> {
  const { options } = loaded;
  const log = newLogger(options);
  await checkFileModes(loaded, { runsPlugins: true, log });
  const token = await readTokenFile(options, 'svc.controllers.token-file');
  return runUntilSignal(() => startControllerManager(options, { token, environment, log }), {
    log,
    drainTimeoutMs: options['svc.server.drain-timeout'],
  });
}

async function startControllerManager(
  options: Options,
  { token, environment, log }: { token: string; environment: Environment; log: Logger },
): Promise<Running> {
  const teardown = new Teardown(log);
  try {
    const metrics = new Registry();
    registerProcessMetrics(metrics, 'controller-manager');
    const platform = { ...platformServer(options, 'svc.controllers', log), token };
    const client = RestClient.connect({
      ...platform,
      warn: (text) => log.debug({ warning: text }, 'the API warned a controller'),
    });
    teardown.add('client', async () => client.close());
    const hosted: EndpointGroup[] = [];
    const readyz: HealthCheck[] = [];
    const address = await listen(options, { client, token, metrics, log, teardown, hosted, readyz });
    const stopTimeoutMs = options['svc.server.drain-timeout'] * reconcileShare;
    const hostUrl = pluginHostUrl(options, address.port);
    const plugins = pluginHost(options, {
      client,
      clientOf: pluginClients(platform, { log, teardown }),
      metrics: new PluginMetrics(metrics),
      url: hostUrl,
      environment,
      log,
    });
    hosted.push(await pluginHostEndpoints(client, plugins, hostUrl));
    const controllers = platformControllers({
      client,
      log,
      host: plugins,
      metrics: new ControllerMetrics(metrics),
      stopTimeoutMs,
    });
    readyz.push(...controllers.readyz);
    controllers.start();
    teardown.add('controllers', () => controllers.stop());
    log.info({ api: platform.url, port: address.port, version: svcVersion() }, 'ready');
    return { stop: () => teardown.run() };
  } catch (error) {
    await teardown.run();
    throw error;
  }
}

/** Clients of the API that impersonate each plugin's own user. */
function pluginClients(
  platform: ConnectOptions,
  { log, teardown }: { log: Logger; teardown: Teardown },
): (plugin: string) => Client {
  const clients = new PluginClients((plugin) =>
    RestClient.connect({
      ...platform,
      impersonate: { user: pluginUser(plugin), groups: [pluginsGroup] },
      warn: (text) => log.debug({ plugin, warning: text }, 'the API warned a plugin'),
    }),
  );
  teardown.add('the clients of plugins', async () => clients.close());
  return clients.of;
}

interface Parts {
  client: RestClient;
  token: string;
  metrics: Registry;
  log: Logger;
  teardown: Teardown;
  /** Evaluated for each request. */
  hosted: readonly EndpointGroup[];
  /** Further checks, evaluated for each probe. */
  readyz: HealthCheck[];
}

/** Serves health, metrics, the log level, and the plugins' endpoints for API servers. */
async function listen(
  options: Options,
  { client, token, metrics, log, teardown, hosted, readyz }: Parts,
): Promise<AddressInfo> {
  const { group, versions, names } = namespaceModel;
  const namespaces = {
    group,
    version: versions[0]!.name,
    kind: names.kind,
    plural: names.plural,
    namespaced: false,
    hasStatusSubresource: true,
  };
  const api = {
    name: 'api',
    check: async (signal: AbortSignal) =>
      void (await client.get(namespaces, { namespace: '', name: systemNamespace }, { signal })),
  };
  readyz.push(api);
  const own = [...healthEndpoints({ readyz, ...svcBuild(), registry: metrics }), logLevelEndpoint(log)];
  const groups: Iterable<EndpointGroup> = {
    *[Symbol.iterator]() {
      yield* own;
      yield* hosted;
    },
  };
  const scrapeToken = await openScrapeToken(options, log);
  const authentication = withAuthentication(new BearerAuthenticator(holderOf(token)), {
    isOpen: isOpenEndpoint(groups),
  });
  // Bodies and responses of all API servers' calls count.
  const budget = newByteBudget(options);
  registerByteBudgetMetrics(metrics, budget);
  const server = new HttpServer({
    handler: chain(
      [
        withRequestId(),
        withSecurityHeaders(),
        withLogging(log),
        withMetrics({ registry: metrics }),
        withStatus(),
        withScrapeToken(scrapeToken, expressHandler(own)),
        authentication,
      ],
      expressHandler(groups),
    ),
    log,
    limits: { stallTimeoutMs: apiHttpOptions(options).limits.stallTimeoutMs },
    memory: { budget },
  });
  teardown.add('server', () => server.close({ drainTimeoutMs: 1000 }));
  const at = { host: options['svc.server.host'], port: options['svc.controllers.port'] };
  try {
    return await server.listen(at);
  } catch (error) {
    throw explainListenFailure(error, at, { host: 'svc.server.host', port: 'svc.controllers.port' });
  }
}

/** Accepts only the token that this process itself uses, for its metrics: it has no other users. */
function holderOf(token: string): TokenAuthenticator {
  return {
    authenticateToken: async (given) =>
      isSameToken(given, token) ? { name: 'controller-manager', uid: '', groups: [systemMasters] } : undefined,
  };
}
