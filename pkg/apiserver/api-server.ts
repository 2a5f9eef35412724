import {
  chain,
  endpointGroupOf,
  expressHandler,
  openHealthPaths,
  isOpenEndpoint,
  ServiceServer,
  withAuthentication,
  authorizeRequest,
  withAuthorization,
  withCors,
  withImpersonation,
  withLogging,
  withRequestId,
  withSecurityHeaders,
  withStatus,
  withStrictTransport,
  withThrottle,
  withTimeout,
  withWebSocketOrigin,
  noteForwarded,
  ServiceUrl,
  TrustedProxies,
  type CredentialReader,
  type EndpointGroup,
  type Exemption,
  type Filter,
  type Handler,
  type HealthCheck,
  type InFlightLimits,
  type MaxInFlight,
  type RequestInfo,
  type ServiceServerOptions,
  type VerifiedCredentials,
  type Throttle,
} from '#pkg/http/index';
import {
  pageHeader,
  systemControllers,
  systemMasters,
  type Authorizer,
  type RequestAuthenticator,
} from '#pkg/identity/index';
import type { Store } from '#pkg/storage/index';
import type { Auditor } from './audit/auditor.ts';
import { newRecheck } from './authorization/recheck.ts';
import { withPage, type PageRules } from './authorization/with-page.ts';
import { registeredReviews } from './authorization/reviews/review-discovery.ts';
import type { ReviewParts } from './authorization/reviews/review.ts';
import { withReviews } from './authorization/reviews/with-reviews.ts';
import { discoveredModels } from './discovery/discovered-models.ts';
import { withDiscovery } from './discovery/with-discovery.ts';
import type { HandlerOptions } from './handlers/options/handler-options.ts';
import { resourceHandler } from './handlers/resource-handler.ts';
import { levelOfRequest } from './level-of-request.ts';
import type { ModelRegistry } from './rest/served-resource.ts';
import { registeredStreams, withStreams } from './stream/with-streams.ts';

type SetByServer = 'exemption' | 'levelOf' | 'systemGroups' | 'observer' | 'credentialOf' | 'verified';
type ListenerOption = 'limits' | 'proxies' | 'byteBudget' | 'host' | 'port';

/** The options of the listening server. */
export interface ApiServerOptions extends Omit<ServiceServerOptions, ListenerOption> {
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
  /** The pages of plugins. Default: none is known, and a request that names one is refused. */
  pages?: PageRules;
  /** Limits the requests of each user in a minute. Default: no limit. */
  throttle?: Throttle;
  /** Records requests. Default: nothing is recorded. */
  auditor?: Auditor;
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
  /** Another service at this server's address. Default: none. */
  mounted?: MountedService;
}

/** A service whose paths this server answers, too. It authenticates, authorizes, limits and audits them itself. */
export interface MountedService {
  /** The first part of a decoded path that it answers; undefined for any other path. */
  prefixOf: (path: string) => string | undefined;
  /**
   * With all filters, for a service in this process; `isForwarded`: without any, for one that runs elsewhere.
   * `forwardedRequestOf` tells how the client has reached this server.
   */
  handler: Handler;
  isForwarded?: boolean;
}

export interface ApiHttpOptions extends Pick<ServiceServerOptions, ListenerOption> {
  /** Concurrent requests and watches. A limit that is left out does not apply. */
  maxInFlight?: Omit<MaxInFlight, SetByServer>;
  /** Time until a response must begin. Default 30 s. */
  requestTimeoutMs?: number;
  /** A request that takes at least this long is logged as slow. Default 1 s. */
  slowRequestMs?: number;
  /** Origins whose pages may call the API. Default none. */
  allowedOrigins?: readonly string[];
  /** The origin of this service, if clients see another than the Host header says. */
  publicUrl?: string;
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
 * the models.
 */
export class ApiServer extends ServiceServer {
  readonly #options: ApiServerOptions;

  constructor({ http, ...options }: ApiServerOptions) {
    super({ ...options, ...http }, withStatus());
    this.#options = { ...options, http };
  }

  /** Registry and store must be running. May be called again after `suspend`, with other parts. */
  serve(parts: ApiParts): void {
    const { endpointGroups = [], store, readyz = [], credentialOf, verified } = parts;
    const database: HealthCheck = { name: 'database', check: () => store.ping() };
    const own = this.ownEndpoints([database, this.leaving, ...readyz]);
    const groups: Iterable<EndpointGroup> = {
      *[Symbol.iterator]() {
        yield* own;
        yield* endpointGroups;
      },
    };
    const limits = this.newLimits({
      ...this.#options.http.maxInFlight,
      exemption: exemptionOf(groups),
      levelOf: levelOfRequest,
      systemGroups: [systemMasters, systemControllers],
      ...(credentialOf === undefined ? {} : { credentialOf }),
      ...(verified === undefined ? {} : { verified }),
    });
    const { withScrapeToken, withMetrics } = this;
    const options = { ...this.#options, ...parts, groups, limits, withScrapeToken, withMetrics };
    this.begin(parts.mounted === undefined ? apiHandler(options) : withMounted(parts.mounted, options));
  }
}

function withMounted({ prefixOf, handler, isForwarded = false }: MountedService, options: ApiHandlerOptions): Handler {
  const { proxies = new TrustedProxies([]), publicUrl } = options.http;
  const otherwise = apiHandler(options);
  const mounted = isForwarded ? forwardingHandler(handler, options) : handler;
  return (context) => {
    const { clientAddress, info, request } = context;
    const prefix = prefixOf(info.path);
    // Access management has no rules for pages.
    if (prefix === undefined || request.headers[pageHeader] !== undefined) return otherwise(context);
    context.route = prefix;
    // The path looks like that of a resource, and `?watch` would lift the time limit.
    info.isResourceRequest = false;
    noteForwarded(request, { clientAddress, origin: proxies.originOf(request), publicUrl });
    return mounted(context);
  };
}

interface ApiHandlerOptions extends ApiServerOptions, ApiParts {
  groups: Iterable<EndpointGroup>;
  limits: InFlightLimits;
  withScrapeToken: Filter;
  withMetrics: Filter;
}

/** The filters that know neither user nor model. */
function forwardingHandler(handler: Handler, options: ApiHandlerOptions): Handler {
  const { log, http, limits } = options;
  return chain(
    [
      withRequestId(),
      withSecurityHeaders(),
      withStrictTransport(http.strictTransportDays),
      withLogging(log, http.slowRequestMs === undefined ? {} : { slowMs: http.slowRequestMs }),
      options.withMetrics,
      withStatus(),
      withTimeout(http.requestTimeoutMs === undefined ? {} : { timeoutMs: http.requestTimeoutMs }),
      limits.withoutAuthentication,
    ],
    handler,
  );
}

function apiHandler(options: ApiHandlerOptions): Handler {
  const { authenticator, authorizer, pages, throttle, auditor, log, http, groups, limits } = options;
  const isExempt = ({ path }: RequestInfo): boolean => openHealthPaths.has(path);
  const open = { isOpen: isOpenEndpoint(groups), isExempt };
  return chain(
    [
      withRequestId(),
      withSecurityHeaders(),
      withStrictTransport(http.strictTransportDays),
      withLogging(log, http.slowRequestMs === undefined ? {} : { slowMs: http.slowRequestMs }),
      options.withMetrics,
      ...(auditor === undefined ? [] : [auditor.filter(isExempt)]),
      withStatus(),
      withCors({ allowedOrigins: http.allowedOrigins ?? [] }),
      withWebSocketOrigin({
        url: new ServiceUrl(http.proxies ?? new TrustedProxies([]), http.publicUrl),
        allowedOrigins: new Set(http.allowedOrigins),
      }),
      withTimeout(http.requestTimeoutMs === undefined ? {} : { timeoutMs: http.requestTimeoutMs }),
      options.withScrapeToken,
      limits.beforeAuthentication,
      withAuthentication(authenticator, open),
      ...(throttle === undefined ? [] : [withThrottle(throttle)]),
      withImpersonation(authorizer),
      withPage(pages),
      limits.afterAuthentication,
      withAuthorization(authorizer, open),
    ],
    expressHandler(groups, generatedApi(options)),
  );
}

function generatedApi({ registry, authenticator, authorizer, pages, reviews, handlers, auditor }: ApiParts): Handler {
  const recheck = newRecheck({ authenticator, authorizer, pages });
  const resources = resourceHandler({
    registry,
    recheck,
    authorizeCreate: (context) => authorizeRequest(authorizer, context, { verb: 'create' }),
    ...(handlers === undefined ? {} : { options: handlers }),
  });
  const unstored = [registeredStreams, ...(reviews === undefined ? [] : registeredReviews)];
  return chain(
    [
      withDiscovery(discoveredModels(registry, unstored)),
      ...(reviews === undefined ? [] : [withReviews({ ...reviews, authorizer })]),
      withStreams({ registry, authorizer, recheck, auditor, options: handlers }),
    ],
    resources,
  );
}
