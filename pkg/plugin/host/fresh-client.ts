import type { Client, Reader, Watcher } from '#pkg/apimachinery/index';

/**
 * A client that writes through `fenced` and reads from the server. A cache may lag, and an object that it does not show
 * yet would count as deleted.
 */
export function freshClient(fenced: Client, server: Reader & Watcher): Client {
  return {
    get: (type, key, options) => server.get(type, key, options),
    list: (type, options) => server.list(type, options),
    watch: (type, options) => server.watch(type, options),
    create: (type, object, options) => fenced.create(type, object, options),
    update: (type, object, options) => fenced.update(type, object, options),
    patch: (type, key, patch, options) => fenced.patch(type, key, patch, options),
    updateStatus: (type, object, options) => fenced.updateStatus(type, object, options),
    patchStatus: (type, key, patch, options) => fenced.patchStatus(type, key, patch, options),
    delete: (type, key, options) => fenced.delete(type, key, options),
  };
}
