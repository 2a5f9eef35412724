import {
  chain,
  expressHandler,
  findEndpointGroup,
  ServiceServer,
  withCors,
  withForwardedRequest,
  withLogging,
  withRequestId,
  withSecurityHeaders,
  withStrictTransport,
  withTimeout,
  type EndpointGroup,
  type ForwardingProof,
  type Handler,
  type HealthCheck,
  type MaxInFlight,
  type ServiceServerOptions,
  type ServiceUrl,
  type TrustedProxies,
  type VerifiedCredentials,
  type Throttle,
} from '#pkg/http/index';
import { pageHeader } from '#pkg/identity/index';
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

export interface AccessServerOptions extends ServiceServerOptions {
  /** Proxies whose headers about client address and host are trusted. */
  proxies: TrustedProxies;
  /** Maximum concurrent requests, and how long another one waits; probes are exempt. Default: no limit. */
  maxInFlight?: Pick<
    MaxInFlight,
    'total' | 'reserved' | 'bulk' | 'perUser' | 'maxWaitMs' | 'wrongCredentialsPerMinute' | 'senders'
  >;
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
  /** Checks what another server of ours says about the client of a request. Default: no server can. */
  forwardingProof?: Pick<ForwardingProof, 'check'>;
  /** Its public URLs. Default: from the headers of clients and trusted proxies. */
  url?: ServiceUrl;
  /** Other origins whose pages may read answers and act for their visitor. Default: none. */
  allowedOrigins?: ReadonlySet<string>;
  /** Checks that must pass before this server gets requests. */
  readyz: readonly HealthCheck[];
}

/** The access management service over HTTP. */
export class AccessServer extends ServiceServer {
  readonly #options: AccessServerOptions;

  constructor(options: AccessServerOptions) {
    super(options, withAccessErrors([]));
    this.#options = options;
  }

  serve({
    credentials,
    metricsTokens,
    principals,
    operations,
    throttle,
    verified,
    forwardingProof = { check: () => undefined },
    url,
    allowedOrigins = new Set(),
    readyz,
  }: AccessParts): void {
    const { log, maxInFlight, requestTimeoutMs, slowRequestMs, strictTransportDays, proxies } = this.#options;
    const own = this.ownEndpoints([this.leaving, ...readyz]);
    const ownHandler = expressHandler(own);
    const inFlight = this.newLimits({
      ...maxInFlight,
      exemption: exemptionOf(own),
      credentialOf: credentialKeyOf,
      ...(verified === undefined ? {} : { verified }),
      isUnauthorized,
      throwsRefusals: true,
    });
    const forMetrics = metricsTokens === undefined ? credentials : metricsCredentials(credentials, metricsTokens);
    const operate = operationHandler(new OperationTable(operations), allowedOrigins);
    const administratorsOnly: OperationHandler = async ({ context }, caller) => {
      if (caller === undefined) throw newNotAuthenticated();
      if (!isAdministrator(caller)) throw newPermissionDenied();
      await ownHandler(context);
    };
    const dispatch: Handler = async (context) => {
      if (context.request.headers[pageHeader] !== undefined)
        throw newPermissionDenied('Pages of plugins cannot use access management.');
      const group = findEndpointGroup(own, context.info.path);
      if (group?.isOpen === true) return ownHandler(context);
      const request = new AccessRequest(context, proxies, url);
      const caller = await admit(request, {
        throttle,
        principals,
        credentials: group?.prefix === '/metrics' ? forMetrics : credentials,
      });
      await inFlight.afterAuthentication(() => (group === undefined ? operate : administratorsOnly)(request, caller))(
        context,
      );
    };
    this.begin(
      chain(
        [
          withRequestId(),
          withSecurityHeaders(),
          withStrictTransport(strictTransportDays),
          withLogging(log, slowRequestMs === undefined ? {} : { slowMs: slowRequestMs }),
          this.withMetrics,
          withAccessErrors(challengesOf(credentials), errorPage),
          withForwardedRequest(forwardingProof),
          withCors({ allowedOrigins: [...allowedOrigins] }),
          withTimeout(requestTimeoutMs === undefined ? {} : { timeoutMs: requestTimeoutMs }),
          this.withScrapeToken,
          inFlight.beforeAuthentication,
        ],
        dispatch,
      ),
    );
  }
}

/** Health endpoints check no credential; metrics show why other requests are refused. */
function exemptionOf(own: readonly EndpointGroup[]): NonNullable<MaxInFlight['exemption']> {
  return ({ path }) => {
    const group = findEndpointGroup(own, path);
    if (group?.isOpen === true) return 'everything';
    return group?.prefix === '/metrics' ? 'metrics' : undefined;
  };
}

/** 429 answers too many wrong credentials. */
function isUnauthorized(error: unknown): boolean {
  return isAccessError(error) && (error.status === 401 || error.status === 429);
}
