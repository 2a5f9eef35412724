import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Registry as MetricsRegistry } from 'prom-client';
import {
  chain,
  endpointGroupOf,
  expressHandler,
  healthEndpoints,
  HttpServer,
  InFlightLimits,
  NotReadyError,
  observeLimits,
  openHealthPaths,
  registerByteBudgetMetrics,
  registerConnectionMetrics,
  isOpenEndpoint,
  withAuthentication,
  withAuthorization,
  withCors,
  withImpersonation,
  withLogging,
  withMetrics,
  withRequestId,
  withSecurityHeaders,
  withStatus,
  withStrictTransport,
  withTimeout,
  type ByteBudget,
  type CredentialReader,
  type EndpointGroup,
  type Exemption,
  type Handler,
  type HealthCheck,
  type HttpServerOptions,
  type LimitsObserver,
  type ListenOptions,
  type MaxInFlight,
  type RequestInfo,
  type VerifiedCredentials,
} from '#pkg/http/index';
import { newServiceUnavailable } from '#pkg/apimachinery/index';
import type { Authorizer, RequestAuthenticator } from '#pkg/identity/index';
import type { Store } from '#pkg/storage/index';
import { newRecheck } from './authorization/recheck.ts';
import { withReviewModels } from './authorization/reviews/review-discovery.ts';
import type { ReviewParts } from './authorization/reviews/review.ts';
import { withReviews } from './authorization/reviews/with-reviews.ts';
import { withDiscovery } from './discovery/with-discovery.ts';
import type { HandlerOptions } from './handlers/options/handler-options.ts';
import { resourceHandler } from './handlers/resource-handler.ts';
import type { ModelRegistry } from './rest/served-resource.ts';

/** The options of the listening server. */
export interface ApiServerOptions {
  svcVersion: string;
  /** The commit that was built, for `/version`. Default: absent. */
  gitCommit?: string;
  log: Logger;
  metrics: MetricsRegistry;
  http: ApiHttpOptions;
}

/** The components that answer requests. */
export interface ApiParts {
  registry: ModelRegistry;
  /** Pinged for `/readyz`. The caller closes it. */
  store: Pick<Store, 'ping'>;
  /** One authenticator for all kinds of credentials: the last member of a union rejects unknown credentials. */
  authenticator: RequestAuthenticator;
  /** Reads the key that identifies a request's credential. Default: from the Authorization header. */
  credentialOf?: CredentialReader;
  /** Cache of verified credentials. Default: only those of this server's own requests. */
  verified?: VerifiedCredentials;
  authorizer: Authorizer;
  /** Serves SubjectAccessReviews, TokenReviews and similar kinds. Default: none. */
  reviews?: Omit<ReviewParts, 'authorizer'>;
  /**
   * Discovery, documents, personal tokens, plugins' own paths. Read again for each request, so the caller may add to
   * and remove from a live Set.
   */
  endpointGroups?: Iterable<EndpointGroup>;
  /** Checks that must pass, besides the database, before this server receives requests. */
  readyz?: readonly HealthCheck[];
  /** Options of the generated API. Default: `defaultHandlerOptions`. */
  handlers?: Partial<HandlerOptions>;
}

export interface ApiHttpOptions extends Pick<HttpServerOptions, 'limits' | 'proxies'> {
  /** The memory that requests may take. Default: not limited. */
  byteBudget?: ByteBudget;
  host: string;
  /** 0 selects a free port. */
  port: number;
  /** Concurrent requests and watches. A limit that is left out does not apply. */
  maxInFlight?: Omit<MaxInFlight, 'exemption' | 'observer' | 'credentialOf' | 'verified'>;
  /** Time until a response must begin. Default 30 s. */
  requestTimeoutMs?: number;
  /** A request that takes at least this long is logged as slow. Default 1 s. */
  slowRequestMs?: number;
  /** Origins whose pages may call the API. Default none. */
  allowedOrigins?: readonly string[];
  /** Days for which browsers use only https after a visit by https; 0 revokes that. Default: header not sent. */
  strictTransportDays?: number;
}

/** `/metrics` is exempt because it shows authorized clients why other requests are rejected. */
function exemptionOf(groups: Iterable<EndpointGroup>): (info: RequestInfo) => Exemption | undefined {
  return (info) => {
    const { path } = info;
    if (openHealthPaths.has(path)) return 'everything';
    if (path === '/metrics') return 'metrics';
    return endpointGroupOf(groups, info)?.isUnlimited === true ? 'open' : undefined;
  };
}

/**
 * The content platform over HTTP: the filters, then the endpoint group that owns the path, else the generated API of
 * the models. It may listen before it can serve: until `serve` is called, it is alive but not ready and answers 503.
 */
export class ApiServer {
  readonly #options: ApiServerOptions;
  readonly #server: HttpServer;
  #handler: Handler;
  #observer: LimitsObserver | undefined;
  #stopping: Promise<void> | undefined;

  constructor(options: ApiServerOptions) {
    this.#options = options;
    this.#handler = startingHandler(options);
    registerConnectionMetrics(options.metrics, () => this.#server.connections);
    const { limits, proxies, byteBudget } = options.http;
    if (byteBudget !== undefined) registerByteBudgetMetrics(options.metrics, byteBudget);
    this.#server = new HttpServer({
      handler: (context) => this.#handler(context),
      log: options.log,
      isProbe: (path) => openHealthPaths.has(path),
      ...(limits === undefined ? {} : { limits }),
      ...(proxies === undefined ? {} : { proxies }),
      ...(byteBudget === undefined
        ? {}
        : {
            memory: {
              budget: byteBudget,
              observer: { refused: (by) => this.#observer?.refused(by), waited: (ms) => this.#observer?.waited(ms) },
            },
          }),
    });
  }

  /** Resolves when connections are accepted. */
  listen(): Promise<AddressInfo> {
    const { host, port } = this.#options.http;
    return this.#server.listen({ host, port });
  }

  /** Opens another listener, for https. */
  listenTls(at: Required<ListenOptions>): Promise<AddressInfo> {
    return this.#server.listen(at);
  }

  /** Registry and store must be running. */
  serve(parts: ApiParts): void {
    const leaving: HealthCheck = {
      name: 'shutdown',
      check: () =>
        this.#stopping === undefined
          ? Promise.resolve()
          : Promise.reject(new NotReadyError('the server is shutting down')),
    };
    const { http, log, metrics } = this.#options;
    const { credentialOf, verified } = parts;
    const observer = observeLimits({ log, registry: metrics, waiting: () => limits.waiting });
    const limits = new InFlightLimits({
      ...http.maxInFlight,
      exemption: exemptionOf(parts.endpointGroups ?? []),
      observer,
      ...(credentialOf === undefined ? {} : { credentialOf }),
      ...(verified === undefined ? {} : { verified }),
    });
    this.#observer = observer;
    this.#handler = apiHandler({ ...this.#options, ...parts, limits, readyz: [leaving, ...(parts.readyz ?? [])] });
  }

  /**
   * First reports not ready for `delayMs` (default 0) but still serves, so that load balancers notice. Then refuses new
   * connections, ends watches cleanly and waits at most `drainTimeoutMs` (default 10 s) for running requests.
   * Idempotent, never rejects. Stop the server before registry and store, which the last requests still use.
   */
  stop({ drainTimeoutMs = 10_000, delayMs = 0 }: { drainTimeoutMs?: number; delayMs?: number } = {}): Promise<void> {
    this.#stopping ??= (delayMs > 0 ? delay(delayMs) : Promise.resolve())
      .then(() => this.#server.close({ drainTimeoutMs }))
      .then(() => this.#observer?.close());
    return this.#stopping;
  }
}

function startingHandler({ log, svcVersion, gitCommit = '', metrics }: ApiServerOptions): Handler {
  const starting: HealthCheck = {
    name: 'start',
    check: () => Promise.reject(new NotReadyError('the server is starting')),
  };
  const groups = healthEndpoints({ readyz: [starting], svcVersion, gitCommit, registry: metrics }).filter(
    ({ isOpen }) => isOpen === true,
  );
  const refuse: Handler = () => Promise.reject(newServiceUnavailable('the server is starting'));
  return chain(
    [withRequestId(), withSecurityHeaders(), withLogging(log), withStatus()],
    expressHandler(groups, refuse),
  );
}

function apiHandler(options: ApiServerOptions & ApiParts & { limits: InFlightLimits }): Handler {
  const { authenticator, authorizer, log, metrics, http, limits } = options;
  const groups = allGroups(options);
  const isExempt = ({ path }: RequestInfo): boolean => openHealthPaths.has(path);
  const open = { isOpen: isOpenEndpoint(groups), isExempt };
  return chain(
    [
      withRequestId(),
      withSecurityHeaders(),
      withStrictTransport(http.strictTransportDays),
      withLogging(log, http.slowRequestMs === undefined ? {} : { slowMs: http.slowRequestMs }),
      withMetrics({ registry: metrics }),
      withStatus(),
      withCors({ allowedOrigins: http.allowedOrigins ?? [] }),
      withTimeout(http.requestTimeoutMs === undefined ? {} : { timeoutMs: http.requestTimeoutMs }),
      limits.beforeAuthentication,
      withAuthentication(authenticator, open),
      withImpersonation(authorizer),
      limits.afterAuthentication,
      withAuthorization(authorizer, open),
    ],
    expressHandler(groups, generatedApi(options)),
  );
}

function generatedApi({ registry, authenticator, authorizer, reviews, handlers }: ApiParts): Handler {
  const resources = resourceHandler({
    registry,
    recheck: newRecheck({ authenticator, authorizer }),
    ...(handlers === undefined ? {} : { options: handlers }),
  });
  if (reviews === undefined) return withDiscovery(registry)(resources);
  return chain([withDiscovery(withReviewModels(registry)), withReviews({ ...reviews, authorizer })], resources);
}

function allGroups({
  endpointGroups = [],
  store,
  readyz = [],
  svcVersion,
  gitCommit = '',
  metrics,
}: ApiServerOptions & ApiParts): Iterable<EndpointGroup> {
  const database: HealthCheck = { name: 'database', check: () => store.ping() };
  const own = healthEndpoints({ readyz: [database, ...readyz], svcVersion, gitCommit, registry: metrics });
  return {
    *[Symbol.iterator]() {
      yield* own;
      yield* endpointGroups;
    },
  };
}
