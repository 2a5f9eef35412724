import type { ApiHttpOptions } from '#pkg/apiserver/index';
import { TrustedProxies } from '#pkg/http/index';
import type { Options } from '../options/option-table.ts';
import type { WorkerContext } from './worker-context.ts';

const stallTimeoutMs = 120_000;

/** The options of the platform's listener; `worker`: if it is that of one of several workers. */
export function apiHttpOptions(
  options: Options,
  worker?: WorkerContext,
): ApiHttpOptions & { limits: { stallTimeoutMs: number }; proxies: TrustedProxies } {
  const requestTimeoutMs = options['svc.api.request-timeout'];
  // HSTS only for a certificate of the operator: a browser must not be bound to a generated one, which it does not
  // trust.
  const strictTransportDays = options['svc.tls.cert-file'] === undefined ? undefined : options['svc.http.hsts-days'];
  return {
    host: options['svc.server.host'],
    port: options['svc.server.port'],
    requestTimeoutMs,
    slowRequestMs: options['svc.log.slow-request'],
    ...(strictTransportDays === undefined ? {} : { strictTransportDays }),
    allowedOrigins: options['svc.http.cors.allowed-origins'],
    proxies: new TrustedProxies(options['svc.http.trusted-proxies']),
    limits: {
      connections: options['svc.http.max-connections'],
      connectionsPerAddress: options['svc.http.max-connections-per-address'],
      requestsPerConnection: options['svc.http.max-requests-per-connection'],
      urlBytes: options['svc.http.max-url-size'],
      headerBytes: options['svc.http.max-header-size'],
      headerCount: options['svc.http.max-headers'],
      headersTimeoutMs: options['svc.http.header-timeout'],
      keepAliveTimeoutMs: options['svc.http.idle-timeout'],
      // A connection that waits for its response must not count as stalled.
      stallTimeoutMs: Math.max(stallTimeoutMs, requestTimeoutMs * 2, options['svc.http.header-timeout'] * 2),
    },
    maxInFlight: {
      ...(worker === undefined ? {} : { watchCounter: worker.watches, processes: worker.of }),
      ...limit('total', options['svc.http.max-in-flight']),
      reserved: options['svc.http.reserved-for-system'],
      ...limit('bulk', options['svc.http.max-in-flight-bulk']),
      ...limit('perUser', options['svc.http.max-in-flight-per-user']),
      maxWaitMs: options['svc.http.max-wait'],
      ...limit('watches', options['svc.http.max-watches']),
      ...limit('watchesPerUser', options['svc.http.max-watches-per-user']),
      ...limit('wrongCredentialsPerMinute', options['svc.http.max-wrong-credentials']),
      senders: {
        ...limit('total', options['svc.http.max-senders']),
        ...limit('perAddress', options['svc.http.max-senders-per-address']),
        ...limit('minBytesPerSecond', options['svc.http.min-body-rate']),
      },
    },
  };
}

/**
 * The options of access management's listener. Its throttle counts wrong credentials too: above the limit no credential
 * is looked up.
 */
export function accessHttpOptions(options: Options, worker?: WorkerContext): ReturnType<typeof apiHttpOptions> {
  const { maxInFlight, ...http } = apiHttpOptions(options, worker);
  const most = maxInFlight?.wrongCredentialsPerMinute;
  const throttled = options['svc.access.throttle.anonymous'];
  return {
    ...http,
    maxInFlight: {
      ...maxInFlight,
      ...(most === undefined
        ? {}
        : { wrongCredentialsPerMinute: Math.min(most, Math.ceil(throttled / (worker?.of ?? 1))) }),
    },
  };
}

function limit<K extends string>(name: K, value: number): { [k in K]?: number } {
  return value === 0 ? {} : ({ [name]: value } as { [k in K]: number });
}
