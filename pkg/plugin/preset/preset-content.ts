import { equalJson, type AnyObject, type JsonObject, type ResourceType, type Stored } from '#pkg/apimachinery/index';
import { pluginLabel } from '#pkg/apis/index';
import { withoutServedBefore } from '../model/served-versions.ts';

/** The object that the plugin creates. */
export function newObject(shipped: AnyObject, plugin: string): AnyObject {
  return {
    ...shipped,
    metadata: { ...shipped.metadata, labels: { ...shipped.metadata.labels, [pluginLabel]: plugin } },
  };
}

/**
 * The stored object with the plugin's content: keeps system fields and metadata that others added; replaces every other
 * field. A status without a subresource is replaced only if it is shipped.
 */
export function updatedObject(
  stored: Stored<AnyObject>,
  shipped: AnyObject,
  { plugin, type }: { plugin: string; type: ResourceType },
): Stored<AnyObject> {
  const { labels, annotations, finalizers = [] } = shipped.metadata;
  const present = withoutServedBefore(stored.metadata);
  const metadata = {
    ...present,
    labels: { ...present.labels, ...labels, [pluginLabel]: plugin },
    ...(annotations === undefined ? {} : { annotations: { ...present.annotations, ...annotations } }),
    ...(finalizers.length === 0 ? {} : { finalizers: [...new Set([...(present.finalizers ?? []), ...finalizers])] }),
  };
  const keepsStatus = stored.status !== undefined && (type.hasStatusSubresource || shipped.status === undefined);
  return { ...shipped, metadata, ...(keepsStatus ? { status: stored.status } : {}) };
}

export function isSameContent(a: AnyObject, b: AnyObject): boolean {
  return equalJson(a as unknown as JsonObject, b as unknown as JsonObject);
}
