import type { Plugin } from '#pkg/apis/index';
import { PluginError } from '../plugin-error.ts';
import { findEndpointConflicts, type EndpointsOfPlugin } from './find-endpoint-conflicts.ts';

/**
 * What a start asks before it mounts. `others` are all plugins, itself among them; those that are disabled hold
 * nothing. @throws PluginError `EndpointConflict`, which names all of them
 */
export function refuseEndpointConflicts(
  own: EndpointsOfPlugin,
  others: Iterable<Pick<Plugin, 'metadata' | 'status'>>,
): void {
  const mounted = Array.from(others, ({ metadata, status }) => ({
    plugin: metadata.name,
    endpoints: status?.phase === 'Disabled' ? [] : (status?.endpoints ?? []),
  }));
  const conflicts = findEndpointConflicts(own, mounted);
  if (conflicts.length > 0)
    throw new PluginError({ reason: 'EndpointConflict', message: conflicts.map(({ message }) => message).join('; ') });
}
