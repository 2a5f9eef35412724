import type { PluginEndpoint } from '#pkg/apis/index';
import { endpointRoute } from './endpoint-path.ts';
import { EndpointTable } from './endpoint-tree.ts';
import { endpointViolation } from './endpoint-violation.ts';

/** The endpoints that one plugin mounts or wants to mount. */
export interface EndpointsOfPlugin {
  plugin: string;
  endpoints: readonly PluginEndpoint[];
}

/** Why an endpoint cannot be mounted. */
export interface EndpointConflict {
  endpoint: PluginEndpoint;
  /** The plugin that already has the path; absent if the endpoint itself is invalid. */
  holder?: string;
  /** Human-readable: names the endpoint and the plugin. */
  message: string;
}

/**
 * Conflicts that prevent mounting: paths of other plugins, duplicate paths of the plugin itself, and invalid endpoints.
 * Mounted endpoints stay: a start with conflicts must fail. Invalid endpoints of other plugins are ignored.
 */
export function findEndpointConflicts(
  { plugin, endpoints }: EndpointsOfPlugin,
  others: Iterable<EndpointsOfPlugin>,
): EndpointConflict[] {
  const table = new EndpointTable();
  for (const other of others) {
    if (other.plugin === plugin) continue;
    for (const endpoint of other.endpoints)
      if (endpointViolation(endpoint) === undefined) table.add({ plugin: other.plugin, endpoint });
  }
  const operations = new Set<string>();
  return endpoints.flatMap((endpoint): EndpointConflict[] => {
    const violation = endpointViolation(endpoint);
    if (violation !== undefined)
      return [{ endpoint, message: `the endpoint ${nameOf(endpoint)} cannot be mounted: its ${violation}` }];
    const isTwice = operations.has(endpoint.operationId);
    operations.add(endpoint.operationId);
    if (isTwice)
      return [
        {
          endpoint,
          holder: plugin,
          message: `two endpoints of the plugin have the operationId ${endpoint.operationId}`,
        },
      ];
    const holder = table.add({ plugin, endpoint });
    if (holder === undefined) return [];
    const [at, there] = [endpointRoute(endpoint), endpointRoute(holder.endpoint)];
    const whose = holder.plugin === plugin ? 'the plugin itself' : `the plugin ${holder.plugin}`;
    return [
      {
        endpoint,
        holder: holder.plugin,
        message:
          at === there
            ? `${at} is mounted by ${whose} already`
            : `${at} matches the same paths as ${there} of ${whose}, with other names for the parameters`,
      },
    ];
  });
}

function nameOf({ method, path, operationId }: PluginEndpoint): string {
  return [method, path, operationId]
    .filter((part) => typeof part === 'string')
    .join(' ')
    .slice(0, 200);
}
