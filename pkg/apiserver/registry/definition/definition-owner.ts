import { groupResource, newForbidden } from '#pkg/apimachinery/index';
import { definitionModel, pluginLabel, pluginModel } from '#pkg/apis/index';
import { isStorageError, type Store } from '#pkg/storage/index';
import type { JsonApiObject } from '../../rest/strategy.ts';

/**
 * Rejects the deletion of a plugin's definition while the plugin exists, because its objects would be deleted too.
 * @throws StatusError 403 that names the plugin
 */
export async function checkUnowned(store: Pick<Store, 'get'>, { metadata }: JsonApiObject): Promise<void> {
  const plugin = metadata.labels?.[pluginLabel] ?? '';
  if (plugin === '' || !(await isThere(store, plugin))) return;
  const reason = `it belongs to the plugin "${plugin}", whose data would go with it: delete the plugin first, the definition and its objects stay until you delete them`;
  throw newForbidden(groupResource(definitionModel), metadata.name, reason);
}

async function isThere(store: Pick<Store, 'get'>, plugin: string): Promise<boolean> {
  try {
    return (await store.get(groupResource(pluginModel), { namespace: '', name: plugin })) !== undefined;
  } catch (error) {
    // This server runs without plugins.
    if (isStorageError(error, 'ModelNotFound')) return false;
    throw error;
  }
}
