import { Gauge, Histogram, type Registry } from 'prom-client';
import type { Filter } from '../request-context.ts';
import type { RequestInfo } from '../request-info.ts';
import { statusOf } from './with-logging.ts';

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const verbs = new Set(['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection']);

export interface MetricsOptions {
  registry: Registry;
  /** Is this a group the server serves? Others are not named: a client must not be able to make labels. */
  isKnownGroup: (group: string) => boolean;
}

/**
 * `http_server_request_duration_seconds` and `http_server_active_requests`, by method, status, verb and API group, each from a bounded set.
 * A watch counts with its whole length. Source: OpenTelemetry semantic conventions for HTTP metrics.
 */
export function withMetrics({ registry, isKnownGroup }: MetricsOptions): Filter {
  const duration = new Histogram({
    name: 'http_server_request_duration_seconds',
    help: 'Duration of HTTP requests.',
    labelNames: ['http_request_method', 'http_response_status_code', 'verb', 'group'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
    registers: [registry],
  });
  let active = 0;
  const gauge: Gauge = new Gauge({ name: 'http_server_active_requests', help: 'HTTP requests under way.', registers: [], collect: (): void => gauge.set(active) });
  registry.registerMetric(gauge);
  const groupOf = ({ group, isResourceRequest }: RequestInfo): string => (isResourceRequest && isKnownGroup(group) ? group : '');
  return (next) => async (context) => {
    const start = performance.now();
    active += 1;
    try {
      await next(context);
    } finally {
      active -= 1;
      const method = context.request.method ?? '';
      duration.observe(
        {
          http_request_method: methods.has(method) ? method : '_OTHER',
          http_response_status_code: statusOf(context),
          verb: verbOf(context.info),
          group: groupOf(context.info),
        },
        (performance.now() - start) / 1000,
      );
    }
  };
}

function verbOf({ verb, isResourceRequest }: RequestInfo): string {
  return isResourceRequest && verbs.has(verb) ? verb : 'other';
}
