import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import type { Registry as MetricsRegistry } from 'prom-client';
import {
  chain,
  expressHandler,
  findEndpointGroup,
  healthEndpoints,
  HttpServer,
  isOpenEndpoint,
  withAuthentication,
  withAuthorization,
  withCors,
  withImpersonationRefused,
  withLogging,
  withMaxInFlight,
  withMetrics,
  withRequestId,
  withSecurityHeaders,
  withStatus,
  withTimeout,
  type EndpointGroup,
  type Handler,
  type HealthCheck,
  type HttpServerOptions,
  type MaxInFlight,
} from '#pkg/http/index';
import type { Authorizer, RequestAuthenticator } from '#pkg/identity/index';
import type { Store } from '#pkg/storage/index';
import { withDiscovery } from './discovery/with-discovery.ts';
import type { HandlerOptions } from './handlers/handler-options.ts';
import { resourceHandler } from './handlers/resource-handler.ts';
import type { ModelRegistry } from './registry/served-resource.ts';

export interface ApiServerOptions {
  registry: ModelRegistry;
  /** Asked whether it answers, for `/readyz`; it stays its owner's to close. */
  store: Pick<Store, 'ping'>;
  /** Of all kinds of credentials, as one: the last of a union refuses what none knows. */
  authenticator: RequestAuthenticator;
  authorizer: Authorizer;
  /** Documents, personal tokens, plugins' own paths. Read anew for each request, so a live Set may grow and shrink. */
  endpointGroups?: Iterable<EndpointGroup>;
  /** What must hold, besides the database, before requests are sent here. */
  readyz?: readonly HealthCheck[];
  svcVersion: string;
  log: Logger;
  metrics: MetricsRegistry;
  http: ApiHttpOptions;
  /** Of the generated API; defaults for what is left out. */
  handlers?: Partial<HandlerOptions>;
}

export interface ApiHttpOptions extends Pick<HttpServerOptions, 'tls' | 'limits'> {
  host: string;
  /** 0 takes a free one. */
  port: number;
  /** Requests under way; a limit left out is no limit. */
  maxInFlight?: Omit<MaxInFlight, 'isExempt'>;
  /** For an answer to begin. Default 30 s. */
  requestTimeoutMs?: number;
  /** Origins whose pages may call the API. Default none. */
  allowedOrigins?: readonly string[];
}

/** Asked by who would end the process if they went unanswered. */
const probes: ReadonlySet<string> = new Set(['/livez', '/readyz', '/healthz']);

/** The content platform over HTTP: filters in front, then the endpoint group that owns the path, else discovery and the generated API of the models. */
export class ApiServer {
  private readonly server: HttpServer;
  private readonly address: { host: string; port: number };

  constructor(options: ApiServerOptions) {
    const { host, port, tls, limits } = options.http;
    this.address = { host, port };
    this.server = new HttpServer({
      handler: apiHandler(options),
      log: options.log,
      ...(tls === undefined ? {} : { tls }),
      ...(limits === undefined ? {} : { limits }),
    });
  }

  /** Resolves when requests are accepted. What the handlers need (registry, store) must be running. */
  start(): Promise<AddressInfo> {
    return this.server.listen(this.address);
  }

  /**
   * Accepts no more, ends watches cleanly and waits for requests under way, at most `drainTimeoutMs` (default 10 s). Idempotent, never rejects.
   * To be stopped before registry and store, which the last requests still use.
   */
  stop({ drainTimeoutMs = 10_000 }: { drainTimeoutMs?: number } = {}): Promise<void> {
    return this.server.close({ drainTimeoutMs });
  }
}

function apiHandler(options: ApiServerOptions): Handler {
  const { registry, authenticator, authorizer, log, metrics, http } = options;
  const groups = allGroups(options);
  const open = { isOpen: isOpenEndpoint(groups) };
  const { total, ...perUser } = http.maxInFlight ?? {};
  return chain(
    [
      withRequestId(),
      withSecurityHeaders(),
      withLogging(log),
      withMetrics({ registry: metrics, isKnownGroup: knownGroups(registry) }),
      withStatus(),
      withCors({ allowedOrigins: http.allowedOrigins ?? [] }),
      withMaxInFlight({ ...(total === undefined ? {} : { total }), isExempt: ({ path }) => probes.has(path) }),
      withTimeout(http.requestTimeoutMs === undefined ? {} : { timeoutMs: http.requestTimeoutMs }),
      withImpersonationRefused(),
      withAuthentication(authenticator, open),
      withMaxInFlight(perUser),
      withAuthorization(authorizer, open),
    ],
    dispatch(groups, withDiscovery(registry)(resourceHandler({ registry, ...(options.handlers === undefined ? {} : { options: options.handlers }) }))),
  );
}

/** The group that owns a path serves it and nobody else does: the path may be open because of it. */
function dispatch(groups: Iterable<EndpointGroup>, next: Handler): Handler {
  const endpoints = expressHandler(groups);
  return (context) => (findEndpointGroup(groups, context.info.path) === undefined ? next(context) : endpoints(context));
}

function allGroups({ endpointGroups = [], store, readyz = [], svcVersion, metrics }: ApiServerOptions): Iterable<EndpointGroup> {
  const database: HealthCheck = { name: 'database', check: () => store.ping() };
  const own = healthEndpoints({ readyz: [database, ...readyz], svcVersion, registry: metrics });
  return {
    *[Symbol.iterator]() {
      yield* own;
      yield* endpointGroups;
    },
  };
}

/** Kept until the registry changes: it is asked for every request. */
function knownGroups(registry: ModelRegistry): (group: string) => boolean {
  let generation: number | undefined;
  let groups = new Set<string>();
  return (group) => {
    if (generation !== registry.generation) {
      generation = registry.generation;
      groups = new Set(registry.models().map(({ model }) => model.group));
    }
    return groups.has(group);
  };
}
