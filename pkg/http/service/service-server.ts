import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Registry as MetricsRegistry } from 'prom-client';
import { newServiceUnavailable } from '#pkg/apimachinery/index';
import type { EndpointGroup } from '../endpoint/endpoint-group.ts';
import { expressHandler } from '../endpoint/express-handler.ts';
import { healthEndpoints, NotReadyError, openHealthPaths, type HealthCheck } from '../endpoint/health.ts';
import { logLevelEndpoint } from '../endpoint/log-level.ts';
import { chain } from '../filters/chain.ts';
import { InFlightLimits, type MaxInFlight } from '../filters/limits/in-flight-limits.ts';
import { observeLimits, type LimitsObserver } from '../filters/limits/observe-limits.ts';
import { withLogging } from '../filters/with-logging.ts';
import { withMetrics } from '../filters/with-metrics.ts';
import { withRequestId } from '../filters/with-request-id.ts';
import { withScrapeToken, type ScrapeToken } from '../filters/with-scrape-token.ts';
import { withSecurityHeaders } from '../filters/with-security-headers.ts';
import type { ByteBudget } from '../memory/byte-budget.ts';
import { registerByteBudgetMetrics } from '../metrics/register-byte-budget-metrics.ts';
import { registerConnectionMetrics } from '../metrics/register-connection-metrics.ts';
import type { Filter, Handler } from '../request/request-context.ts';
import { HttpServer, type HttpServerOptions, type ListenOptions } from '../server/http-server.ts';

export interface ServiceServerOptions extends Pick<HttpServerOptions, 'limits' | 'proxies' | 'addresses'> {
  svcVersion: string;
  /** The commit that was built, for `/version`. Default: absent. */
  gitCommit?: string;
  log: Logger;
  metrics: MetricsRegistry;
  /** The text of `/metrics`. Default: that of `metrics`. */
  metricsText?: () => Promise<string>;
  /** Also accepted for `/metrics`, and for nothing else. Default: none. */
  scrapeToken?: ScrapeToken;
  host: string;
  /** 0 selects a free port. */
  port: number;
  /** The memory that requests may take. Default: not limited. */
  byteBudget?: ByteBudget;
}

/** Why a server that listens cannot serve: the name of the failing check of `/readyz`, and its message. */
export interface Unreadiness {
  name: string;
  message: string;
}

/**
 * The server of one service: its listeners, health endpoints, metrics and end. It may listen before it can serve: until
 * `begin` is called, and from `suspend` until `begin` is called again, it is alive but not ready and answers 503.
 */
export class ServiceServer {
  /** Fails once `stop` was called. */
  protected readonly leaving: HealthCheck = {
    name: 'shutdown',
    check: () =>
      this.#stopping === undefined
        ? Promise.resolve()
        : Promise.reject(new NotReadyError('the server is shutting down')),
  };
  /** Answers the holder of the scrape token. It stands before every filter that limits or authenticates. */
  protected readonly withScrapeToken: Filter;
  protected readonly withMetrics: Filter;
  readonly #options: ServiceServerOptions;
  readonly #server: HttpServer;
  #handler: Handler;
  readonly #withErrors: Filter;
  readonly #observer: LimitsObserver;
  #limits: InFlightLimits | undefined;
  #stopping: Promise<void> | undefined;

  /** `withErrors` turns the errors of a server that cannot serve into responses. */
  constructor(options: ServiceServerOptions, withErrors: Filter) {
    this.#options = options;
    const { log, metrics, limits, proxies, addresses, byteBudget, scrapeToken } = options;
    this.withScrapeToken = withScrapeToken(scrapeToken, expressHandler(this.ownEndpoints([])));
    this.withMetrics = withMetrics({ registry: metrics });
    this.#withErrors = withErrors;
    this.#observer = observeLimits({
      log,
      registry: metrics,
      waiting: () => this.#limits?.waiting ?? 0,
      runningOf: (level) => this.#limits?.runningOf(level) ?? 0,
    });
    this.#handler = this.#unreadyHandler({ name: 'start', message: 'the server is starting' });
    this.#server = new HttpServer({
      handler: (context) => this.#handler(context),
      log,
      isProbe: (path) => openHealthPaths.has(path),
      ...(limits === undefined ? {} : { limits }),
      ...(proxies === undefined ? {} : { proxies }),
      addresses,
      ...(byteBudget === undefined
        ? {}
        : {
            memory: {
              budget: byteBudget,
              observer: this.#observer,
            },
          }),
    });
    registerConnectionMetrics(metrics, () => this.#server.connections);
    if (byteBudget !== undefined) registerByteBudgetMetrics(metrics, byteBudget);
  }

  /** Answers as this server does now, for another server in the process that clients also reach it by. */
  readonly handler: Handler = (context) => this.#handler(context);

  /** Resolves when connections are accepted. */
  listen(): Promise<AddressInfo> {
    const { host, port } = this.#options;
    return this.#server.listen({ host, port });
  }

  /** Opens another listener, for https. */
  listenTls(at: Required<ListenOptions>): Promise<AddressInfo> {
    return this.#server.listen(at);
  }

  /**
   * First reports not ready for `delayMs` (default 0) but still serves, so that load balancers notice. Then refuses new
   * connections, ends watches cleanly and waits at most `drainTimeoutMs` (default 10 s) for running requests.
   * Idempotent, never rejects. Stop the server before the parts that the last requests still use.
   */
  stop({ drainTimeoutMs = 10_000, delayMs = 0 }: { drainTimeoutMs?: number; delayMs?: number } = {}): Promise<void> {
    this.#stopping ??= (delayMs > 0 ? delay(delayMs) : Promise.resolve())
      .then(() => this.#server.close({ drainTimeoutMs }))
      .then(() => this.#observer.close());
    return this.#stopping;
  }

  /**
   * Answers 503 until `begin` is called again. Ends watches cleanly, waits at most `drainTimeoutMs` for the requests under
   * way, and aborts the rest. Never rejects.
   */
  async suspend(why: Unreadiness, { drainTimeoutMs }: { drainTimeoutMs: number }): Promise<void> {
    this.#handler = this.#unreadyHandler(why);
    await this.#server.endRequests({ drainTimeoutMs, reason: newServiceUnavailable(why.message) });
  }

  /** From now on this handler answers. */
  protected begin(handler: Handler): void {
    this.#handler = handler;
  }

  /** Health, metrics and log level. */
  protected ownEndpoints(readyz: readonly HealthCheck[]): EndpointGroup[] {
    const { svcVersion, gitCommit = '', metrics, metricsText, log } = this.#options;
    return [
      ...healthEndpoints({ readyz, svcVersion, gitCommit, registry: metrics, metricsText }),
      logLevelEndpoint(log),
    ];
  }

  /** Limits whose refusals, and those of the memory, are logged and in the metrics. */
  protected newLimits(options: Omit<MaxInFlight, 'observer'>): InFlightLimits {
    this.#limits = new InFlightLimits({ ...options, observer: this.#observer });
    return this.#limits;
  }

  #unreadyHandler({ name, message }: Unreadiness): Handler {
    const check: HealthCheck = { name, check: () => Promise.reject(new NotReadyError(message)) };
    const probes = this.ownEndpoints([check]).filter(({ isOpen }) => isOpen === true);
    return chain(
      [
        withRequestId(),
        withSecurityHeaders(),
        withLogging(this.#options.log),
        this.withMetrics,
        this.#withErrors,
        this.withScrapeToken,
      ],
      expressHandler(probes, () => Promise.reject(newServiceUnavailable(message))),
    );
  }
}
