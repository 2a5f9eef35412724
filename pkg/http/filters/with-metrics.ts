import { Gauge, type Registry } from 'prom-client';
import { durationBuckets, SeriesHistogram, sizeBuckets, type HistogramSeries } from '../metrics/series-histogram.ts';
import type { Filter, RequestContext } from '../request/request-context.ts';
import { hasBody } from '../request/read-body.ts';
import { responseStatus } from './with-logging.ts';
import { isEncrypted } from './with-strict-transport.ts';
import type { RequestInfo } from '../request/request-info.ts';

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', '_OTHER'];
const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection', 'other'];

const schemes = ['http', 'https'];

export interface WithMetricsOptions {
  registry: Registry;
}

type Labels = 'http_request_method' | 'http_response_status_code' | 'http_route' | 'url_scheme' | 'verb';

/** The series of one combination of labels. */
interface RequestSeries {
  duration: HistogramSeries;
  requestSize: HistogramSeries | undefined;
  responseSize: HistogramSeries;
}

/**
 * Duration, active requests, and sizes of bodies, by method, status, route and verb; clients cannot add label values. A
 * watch counts with its whole length. Source: OpenTelemetry semantic conventions for HTTP metrics, with Prometheus'
 * names; `verb` is ours, to separate watches from lists.
 */
export function withMetrics({ registry }: WithMetricsOptions): Filter {
  const find = seriesFinder(registry);
  const active = schemes.map(() => methods.map(() => 0));
  registerActive(registry, active);
  return (next) => async (context) => {
    const start = performance.now();
    const { request } = context;
    const { socket } = request;
    const sentBefore = socket.bytesWritten;
    const method = indexIn(methods, request.method ?? '');
    const ofScheme = active[isEncrypted(socket) ? 1 : 0]!;
    ofScheme[method]! += 1;
    try {
      await next(context);
    } finally {
      ofScheme[method]! -= 1;
      const series = find(context, method);
      series.duration.observe((performance.now() - start) / 1000);
      series.responseSize.observe(sizeOfAnswer(context, sentBefore));
      series.requestSize?.observe(Number(request.headers['content-length'] ?? 0));
    }
  };
}

/**
 * Finds series by route, and by one number for method, verb and status: a text key would have to be built at each
 * request.
 */
function seriesFinder(registry: Registry): (context: RequestContext, method: number) => RequestSeries {
  const labelNames: readonly Labels[] = [
    'http_request_method',
    'http_response_status_code',
    'http_route',
    'url_scheme',
    'verb',
  ];
  const duration = new SeriesHistogram({
    name: 'http_server_request_duration_seconds',
    help: 'Duration of HTTP requests.',
    labelNames,
    buckets: durationBuckets,
    registry,
  });
  const requestSize = new SeriesHistogram({
    name: 'http_server_request_body_size_bytes',
    help: 'Size of HTTP request bodies, by Content-Length.',
    labelNames,
    buckets: sizeBuckets,
    registry,
  });
  const responseSize = new SeriesHistogram({
    name: 'http_server_response_body_size_bytes',
    help: 'Size of HTTP response bodies.',
    labelNames,
    buckets: sizeBuckets,
    registry,
  });
  const known = new Map<string, Map<number, RequestSeries>>();
  return (context, method) => {
    const route = routeOf(context);
    let ofRoute = known.get(route);
    if (ofRoute === undefined) known.set(route, (ofRoute = new Map()));
    const asked = context.carriesWatches ? 'watch' : context.info.verb;
    const verb = context.info.isResourceRequest ? indexIn(verbs, asked) : verbs.length - 1;
    const status = responseStatus(context);
    const takesBody = hasBody(context.request.headers);
    const scheme = isEncrypted(context.request.socket) ? 1 : 0;
    const key = (((status * methods.length + method) * verbs.length + verb) * 2 + scheme) * 2 + (takesBody ? 1 : 0);
    let series = ofRoute.get(key);
    if (series === undefined) {
      const labels = {
        http_request_method: methods[method]!,
        http_response_status_code: status,
        http_route: route,
        url_scheme: schemes[scheme]!,
        verb: verbs[verb]!,
      };
      const counterpart = ofRoute.get(takesBody ? key - 1 : key + 1);
      series = {
        duration: counterpart?.duration ?? duration.series(labels),
        responseSize: counterpart?.responseSize ?? responseSize.series(labels),
        requestSize: takesBody ? requestSize.series(labels) : undefined,
      };
      ofRoute.set(key, series);
    }
    return series;
  };
}

function registerActive(registry: Registry, active: readonly (readonly number[])[]): void {
  const gauge: Gauge = new Gauge({
    name: 'http_server_active_requests',
    help: 'HTTP requests under way, watches included.',
    labelNames: ['http_request_method', 'url_scheme'],
    registers: [registry],
    collect: () =>
      active.forEach((counts, scheme) =>
        counts.forEach((count, i) =>
          gauge.set({ http_request_method: methods[i]!, url_scheme: schemes[scheme]! }, count),
        ),
      ),
  });
}

/** The last name is for all that are not listed. */
function indexIn(names: readonly string[], name: string): number {
  const index = names.indexOf(name);
  return index === -1 ? names.length - 1 : index;
}

/**
 * For an answer without Content-Length: the bytes sent on the connection, of which head and chunk marks are a small
 * part.
 */
function sizeOfAnswer({ request, response }: RequestContext, sentBefore: number): number {
  const length = response.getHeader('content-length');
  return length === undefined ? request.socket.bytesWritten - sentBefore : Number(length);
}

/**
 * The pattern that a request's path matched, without any text of the client:
 * `/apis/{group}/{version}/{resource}/{name}`, `/metrics`; '' without a match. Groups and resources are not named: a
 * server may have thousands, and clients could invent names. Source: OpenTelemetry, `http.route`.
 */
export function routeOf({ route, info }: Pick<RequestContext, 'route' | 'info'>): string {
  if (route !== undefined) return route;
  if (info.isResourceRequest) return resourceRoutes[indexOf(info)]!;
  return discoveryRoute(info.path);
}

const bases = ['/api/{version}', '/apis/{group}/{version}'];
const scopes = ['', '/namespaces/{namespace}'];
const tails = ['/{resource}', '/{resource}/{name}', '/{resource}/{name}/{subresource}'];
const resourceRoutes = bases.flatMap((base) =>
  scopes.flatMap((scope) => tails.map((tail) => `${base}${scope}${tail}`)),
);

function indexOf({ group, namespace, resource, name, subresource, verb }: RequestInfo): number {
  // The info of `/api/v1/namespaces/x` has the namespace x too, and the info of a list by a name has that name.
  const inNamespace = namespace !== '' && !(group === '' && resource === 'namespaces');
  const tail = subresource !== '' ? 2 : name !== '' && verb !== 'list' && verb !== 'watch' ? 1 : 0;
  return (group === '' ? 0 : 6) + (inNamespace ? 3 : 0) + tail;
}

function discoveryRoute(path: string): string {
  if (path === '/api' || path === '/apis' || path === '/api/v1') return path;
  if (!path.startsWith('/apis/')) return '';
  const slashes = path.split('/', 5).length;
  return slashes === 3 ? '/apis/{group}' : slashes === 4 ? '/apis/{group}/{version}' : '';
}
