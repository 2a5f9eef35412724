import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Registry as MetricsRegistry } from 'prom-client';
import { newServiceUnavailable } from '#pkg/apimachinery/index';
import {
  chain,
  expressHandler,
  findEndpointGroup,
  healthEndpoints,
  HttpServer,
  InFlightLimits,
  NotReadyError,
  observeLimits,
  openHealthPaths,
  registerByteBudgetMetrics,
  registerConnectionMetrics,
  withLogging,
  withMetrics,
  withRequestId,
  withSecurityHeaders,
  withStrictTransport,
  withTimeout,
  type ByteBudget,
  type EndpointGroup,
  type Handler,
  type HealthCheck,
  type HttpServerOptions,
  type LimitsObserver,
  type ListenOptions,
  type MaxInFlight,
  type ServiceUrl,
  type TrustedProxies,
  type VerifiedCredentials,
} from '#pkg/http/index';
import { admit } from './http/admit.ts';
import { challengesOf } from './http/authenticate.ts';
import { isAccessError, newNotAuthenticated, newPermissionDenied } from './http/access-error.ts';
import { AccessRequest } from './http/access-request.ts';
import { credentialKeyOf } from './http/credential-key.ts';
import type { Credential } from './http/credential.ts';
import { metricsCredentials, type MetricsTokens } from './tokens/metrics-credentials.ts';
import { operationHandler, type OperationHandler } from './operations/operation-handler.ts';
import { OperationTable } from './operations/operation-table.ts';
import type { Operation } from './operations/operation.ts';
import { withAccessErrors } from './operations/with-access-errors.ts';
import { errorPage } from './pages/error-page.ts';
import { isAdministrator } from './http/caller.ts';
import type { Principals } from './principals/principals.ts';
import type { Throttle } from './http/throttle.ts';

export interface AccessServerOptions extends Pick<HttpServerOptions, 'limits'> {
  /** Proxies whose headers about client address and host are trusted. */
  proxies: TrustedProxies;
  svcVersion: string;
  /** Commit of the build, for `/version`. Default: left out. */
  gitCommit?: string;
  log: Logger;
  metrics: MetricsRegistry;
  host: string;
  /** 0: any free port. */
  port: number;
  /** Maximum concurrent requests, and how long another one waits; probes are exempt. Default: no limit. */
  maxInFlight?: Pick<MaxInFlight, 'total' | 'perUser' | 'maxWaitMs' | 'wrongCredentialsPerMinute' | 'senders'>;
  /** Limits the memory that requests use. Default: not counted. */
  byteBudget?: ByteBudget;
  /** Until the answer begins. Default 30 s. */
  requestTimeoutMs?: number;
  /** Requests that take longer are logged as slow. Default 1 s. */
  slowRequestMs?: number;
  /** For how long browsers that used https must not use http; 0 revokes it. Default: header not sent. */
  strictTransportDays?: number;
}

export interface AccessParts {
  /** In order of precedence. */
  credentials: readonly Credential[];
  /** Also accepted for `/metrics`. Default: none. */
  metricsTokens?: MetricsTokens;
  principals: Principals;
  /** Operations of the API and of the pages. */
  operations: readonly Operation[];
  throttle: Throttle;
  /** Credentials that were valid. Default: only those of requests to this server. */
  verified?: VerifiedCredentials;
  /** Its public URLs. Default: from the headers of clients and trusted proxies. */
  url?: ServiceUrl;
  /** Other origins whose pages may act for their visitor. Default: none. */
  allowedOrigins?: ReadonlySet<string>;
  /** Checks that must pass before this server gets requests. */
  readyz: readonly HealthCheck[];
}

/**
 * The access management service over HTTP. It may listen before it can serve: until `serve` is called, it is live but
 * not ready, and answers 503.
 */
export class AccessServer {
  readonly #options: AccessServerOptions;
  readonly #server: HttpServer;
  #handler: Handler;
  #observer: LimitsObserver | undefined;
  #stopping: Promise<void> | undefined;

  constructor(options: AccessServerOptions) {
    this.#options = options;
    const { svcVersion, gitCommit = '', log, metrics, limits, proxies, byteBudget } = options;
    const starting: HealthCheck = {
      name: 'start',
      check: () => Promise.reject(new NotReadyError('the server is starting')),
    };
    const probes = healthEndpoints({ readyz: [starting], svcVersion, gitCommit, registry: metrics }).filter(
      ({ isOpen }) => isOpen === true,
    );
    const endpoints = expressHandler(probes);
    const dispatch: Handler = (context) =>
      findEndpointGroup(probes, context.info.path) === undefined
        ? Promise.reject(newServiceUnavailable('the server is starting'))
        : endpoints(context);
    this.#handler = chain([withRequestId(), withSecurityHeaders(), withLogging(log), withAccessErrors([])], dispatch);
    this.#server = new HttpServer({
      handler: (context) => this.#handler(context),
      log,
      proxies,
      isProbe: (path) => openHealthPaths.has(path),
      ...(limits === undefined ? {} : { limits }),
      ...(byteBudget === undefined
        ? {}
        : {
            memory: {
              budget: byteBudget,
              observer: { refused: (by) => this.#observer?.refused(by), waited: (ms) => this.#observer?.waited(ms) },
            },
          }),
    });
    if (byteBudget !== undefined) registerByteBudgetMetrics(metrics, byteBudget);
    registerConnectionMetrics(metrics, () => this.#server.connections);
  }

  /** Resolves when the server accepts connections. */
  listen(): Promise<AddressInfo> {
    const { host, port } = this.#options;
    return this.#server.listen({ host, port });
  }

  /** Listens for https as well. */
  listenTls(at: Required<ListenOptions>): Promise<AddressInfo> {
    return this.#server.listen(at);
  }

  serve({
    credentials,
    metricsTokens,
    principals,
    operations,
    throttle,
    verified,
    url,
    allowedOrigins = new Set(),
    readyz,
  }: AccessParts): void {
    const {
      svcVersion,
      gitCommit = '',
      log,
      metrics,
      maxInFlight,
      requestTimeoutMs,
      slowRequestMs,
      strictTransportDays,
      proxies,
    } = this.#options;
    const leaving: HealthCheck = {
      name: 'shutdown',
      check: () =>
        this.#stopping === undefined
          ? Promise.resolve()
          : Promise.reject(new NotReadyError('the server is shutting down')),
    };
    const health = healthEndpoints({ readyz: [leaving, ...readyz], svcVersion, gitCommit, registry: metrics });
    const healthHandler = expressHandler(health);
    const observer = observeLimits({ log, registry: metrics, waiting: () => inFlight.waiting });
    const inFlight = new InFlightLimits({
      ...maxInFlight,
      observer,
      exemption: exemptionOf(health),
      credentialOf: credentialKeyOf,
      ...(verified === undefined ? {} : { verified }),
      isUnauthorized,
      throwsRefusals: true,
    });
    this.#observer = observer;
    const forMetrics = metricsTokens === undefined ? credentials : metricsCredentials(credentials, metricsTokens);
    const operate = operationHandler(new OperationTable(operations), allowedOrigins);
    const administratorsOnly: OperationHandler = async ({ context }, caller) => {
      if (caller === undefined) throw newNotAuthenticated();
      if (!isAdministrator(caller)) throw newPermissionDenied();
      await healthHandler(context);
    };
    const dispatch: Handler = async (context) => {
      const group = findEndpointGroup(health, context.info.path);
      if (group?.isOpen === true) return healthHandler(context);
      const request = new AccessRequest(context, proxies, url);
      const caller = await admit(request, {
        throttle,
        principals,
        credentials: group === undefined ? credentials : forMetrics,
      });
      await inFlight.afterAuthentication(() => (group === undefined ? operate : administratorsOnly)(request, caller))(
        context,
      );
    };
    this.#handler = chain(
      [
        withRequestId(),
        withSecurityHeaders(),
        withStrictTransport(strictTransportDays),
        withLogging(log, slowRequestMs === undefined ? {} : { slowMs: slowRequestMs }),
        withMetrics({ registry: metrics }),
        withAccessErrors(challengesOf(credentials), errorPage),
        withTimeout(requestTimeoutMs === undefined ? {} : { timeoutMs: requestTimeoutMs }),
        inFlight.beforeAuthentication,
      ],
      dispatch,
    );
  }

  /**
   * Reports not ready for `delayMs` (default 0) and still serves, so that load balancers notice; then stops accepting
   * connections and waits for running requests, at most `drainTimeoutMs` (default 10 s). Idempotent, never rejects.
   */
  stop({ drainTimeoutMs = 10_000, delayMs = 0 }: { drainTimeoutMs?: number; delayMs?: number } = {}): Promise<void> {
    this.#stopping ??= (delayMs > 0 ? delay(delayMs) : Promise.resolve())
      .then(() => this.#server.close({ drainTimeoutMs }))
      .then(() => this.#observer?.close());
    return this.#stopping;
  }
}

/** Health endpoints check no credential; metrics show why other requests are refused. */
function exemptionOf(health: readonly EndpointGroup[]): NonNullable<MaxInFlight['exemption']> {
  return ({ path }) => {
    const group = findEndpointGroup(health, path);
    if (group === undefined) return undefined;
    return group.isOpen === true ? 'everything' : 'metrics';
  };
}

/** 429 answers too many wrong credentials. */
function isUnauthorized(error: unknown): boolean {
  return isAccessError(error) && (error.status === 401 || error.status === 429);
}
