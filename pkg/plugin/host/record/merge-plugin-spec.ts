import { equalJson, type JsonValue } from '#pkg/apimachinery/index';
import { maxPluginPermissions, type PluginSpec } from '#pkg/apis/index';

/**
 * The spec of the newer files with the permissions of the running version added, so that the running version keeps them
 * until it is replaced.
 */
export function mergePluginSpec(running: PluginSpec, spec: PluginSpec): PluginSpec {
  const { permissions: held = [] } = running;
  const { permissions: wanted = [] } = spec;
  const dropped = held.filter(
    (each) => !wanted.some((other) => equalJson(each as unknown as JsonValue, other as unknown as JsonValue)),
  );
  if (dropped.length === 0) return spec;
  // Where both are too many for one Plugin, the newer version gets its own when it runs.
  return {
    ...spec,
    permissions: wanted.length + dropped.length > maxPluginPermissions ? held : [...wanted, ...dropped],
  };
}
