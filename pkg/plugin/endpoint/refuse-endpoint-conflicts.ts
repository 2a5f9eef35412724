import type { Plugin } from '#pkg/apis/index';
import { PluginError } from '../plugin-error.ts';
import { findEndpointConflicts, type EndpointsOfPlugin } from './find-endpoint-conflicts.ts';

/**
 * Checked before a start mounts endpoints. `others` are all plugins, including this one; disabled plugins hold no
 * paths. @throws PluginError `EndpointConflict`, which names all conflicts
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
