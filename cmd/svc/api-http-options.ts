import type { ApiHttpOptions } from '#pkg/apiserver/index';
import type { Options } from './options/option-table.ts';

const STALL_TIMEOUT_MS = 120_000;

/** How the platform's listener behaves. */
export function apiHttpOptions(options: Options): ApiHttpOptions {
  const requestTimeoutMs = options['svc.api.request-timeout'];
  return {
    host: options['svc.server.host'],
    port: options['svc.server.port'],
    requestTimeoutMs,
    allowedOrigins: options['svc.http.cors.allowed-origins'],
    limits: {
      connections: options['svc.http.max-connections'],
      // A connection on which an answer is still awaited must not be taken for a stalled one.
      stallTimeoutMs: Math.max(STALL_TIMEOUT_MS, requestTimeoutMs * 2),
    },
    maxInFlight: {
      ...limit('total', options['svc.http.max-in-flight']),
      ...limit('perUser', options['svc.http.max-in-flight-per-user']),
      ...limit('watchesPerUser', options['svc.http.max-watches-per-user']),
    },
  };
}

function limit<K extends string>(name: K, value: number): { [k in K]?: number } {
  return value === 0 ? {} : ({ [name]: value } as { [k in K]: number });
}
