import type { RequestContext } from '../request/request-context.ts';
import type { RequestInfo } from '../request/request-info.ts';

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
