import { createHash, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { Logger } from 'pino';
import { newUnknownPath } from '#pkg/apimachinery/index';
import { namespaceModel, systemNamespace } from '#pkg/apis/index';
import { RestClient } from '#pkg/client/index';
import {
  BearerAuthenticator,
  chain,
  expressHandler,
  findEndpointGroup,
  healthEndpoints,
  HttpServer,
  isOpenEndpoint,
  withAuthentication,
  withLogging,
  withRequestId,
  withSecurityHeaders,
  withStatus,
  type EndpointGroup,
  type Handler,
} from '#pkg/http/index';
import { isPersonalToken, systemMasters, type TokenAuthenticator } from '#pkg/identity/index';
import { apiHttpOptions } from './api-http-options.ts';
import { newLogger } from './logger.ts';
import { ControllerMetrics } from './metrics/controller-metrics.ts';
import { OperatorError } from './operator-error.ts';
import type { LoadedOptions } from './options/load-options.ts';
import type { Options } from './options/option-table.ts';
import { pluginHostEndpoints, pluginHostUrl } from './plugin-endpoints.ts';
import { runUntilSignal, type Running } from './run-until-signal.ts';
import { startControllers } from './start-controllers.ts';
import { explainListenFailure, explainStartFailure } from './start-failure.ts';
import { pluginHost, type Environment } from './start-plugins.ts';
import { svcVersion } from './svc-version.ts';
import { Teardown } from './teardown.ts';

/** Of the drain timeout, what reconciles under way may take. */
const RECONCILE_SHARE = 0.8;

/** Runs the platform's controllers, and plugins, against a server elsewhere, until a signal; returns the exit code. Throws OperatorError where it cannot start. */
export async function controllerManager({ options }: LoadedOptions, environment: Environment): Promise<number> {
  const log = newLogger(options['svc.log.level']);
  const token = await readToken(options);
  return runUntilSignal(() => startControllerManager(options, { token, environment, log }), { log, drainTimeoutMs: options['svc.server.drain-timeout'] });
}

async function startControllerManager(options: Options, { token, environment, log }: { token: string; environment: Environment; log: Logger }): Promise<Running> {
  const teardown = new Teardown(log);
  try {
    const metrics = new Registry();
    collectDefaultMetrics({ register: metrics });
    const url = options['svc.controllers.api-url'];
    const client = connect(url, token, log);
    teardown.add('client', async () => client.close());
    const hosted: EndpointGroup[] = [];
    const address = await listen(options, { client, token, metrics, log, teardown, hosted });
    const stopTimeoutMs = options['svc.server.drain-timeout'] * RECONCILE_SHARE;
    const hostUrl = pluginHostUrl(options, address.port);
    const plugins = pluginHost(options, { client, metrics, url: hostUrl, environment, log });
    hosted.push(await pluginHostEndpoints(client, plugins, hostUrl));
    const controllers = startControllers({ client, log, others: [plugins.controller], observerFor: new ControllerMetrics(metrics).observerFor, stopTimeoutMs });
    teardown.add('controllers', () => controllers.stop());
    log.info({ api: url, port: address.port }, 'ready');
    return { stop: () => teardown.run() };
  } catch (error) {
    await teardown.run();
    throw error;
  }
}

function connect(url: string, token: string, log: Logger): RestClient {
  try {
    return RestClient.connect({ url, token, warn: (text) => log.debug({ warning: text }, 'a controller was warned') });
  } catch (error) {
    throw new OperatorError(`svc.controllers.api-url is ${JSON.stringify(url)}, which is no URL of a server: http://host:port or https://host:port.`, { cause: error });
  }
}

interface Parts {
  client: RestClient;
  token: string;
  metrics: Registry;
  log: Logger;
  teardown: Teardown;
  /** Read anew for each request. */
  hosted: readonly EndpointGroup[];
}

/** Health and metrics, and the plugins for API servers: there is nothing else to ask here. */
async function listen(options: Options, { client, token, metrics, log, teardown, hosted }: Parts): Promise<AddressInfo> {
  const { group, versions, names } = namespaceModel;
  const namespaces = { group, version: versions[0]!.name, kind: names.kind, plural: names.plural, namespaced: false, hasStatusSubresource: true };
  const api = { name: 'api', check: async (signal: AbortSignal) => void (await client.get(namespaces, { namespace: '', name: systemNamespace }, { signal })) };
  const health = healthEndpoints({ readyz: [api], svcVersion: svcVersion(), registry: metrics });
  const groups: Iterable<EndpointGroup> = { *[Symbol.iterator]() { yield* health; yield* hosted; } };
  const endpoints = expressHandler(groups);
  const known: Handler = (context) => (findEndpointGroup(groups, context.info.path) === undefined ? Promise.reject(newUnknownPath()) : endpoints(context));
  const authentication = withAuthentication(new BearerAuthenticator(holderOf(token)), { isOpen: isOpenEndpoint(groups) });
  const server = new HttpServer({ handler: chain([withRequestId(), withSecurityHeaders(), withLogging(log), withStatus(), authentication], known), log, limits: { stallTimeoutMs: apiHttpOptions(options).limits.stallTimeoutMs } });
  teardown.add('server', () => server.close({ drainTimeoutMs: 1000 }));
  const at = { host: options['svc.server.host'], port: options['svc.controllers.port'] };
  try {
    return await server.listen(at);
  } catch (error) {
    throw explainListenFailure(error, at, 'svc.controllers.port');
  }
}

/** Whoever holds the token that this process works with may see its metrics: it knows of no other. */
function holderOf(token: string): TokenAuthenticator {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  const own = digest(token);
  return { authenticateToken: async (given) => (timingSafeEqual(digest(given), own) ? { name: 'controller-manager', uid: '', groups: [systemMasters] } : undefined) };
}

async function readToken(options: Options): Promise<string> {
  const file = options['svc.controllers.token-file'] ?? join(options['svc.data.dir'], 'admin-token');
  let token: string;
  try {
    token = (await readFile(file, 'utf8')).trim();
  } catch (error) {
    throw new OperatorError(explainStartFailure(error) ?? `${file} holds no token: it cannot be read; set svc.controllers.token-file to a file with a personal token.`, { cause: error });
  }
  if (!isPersonalToken(token)) throw new OperatorError(`${file} holds no personal token: that is pat_, 30 letters or digits, and their checksum.`);
  return token;
}
