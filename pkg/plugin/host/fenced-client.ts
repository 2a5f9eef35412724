import type { Client, Fence, WriteOptions } from '#pkg/apimachinery/index';

/** A client whose writes fail once the fence's lease has another holder; a call can name another fence. */
export function fencedClient(client: Client, fence: Fence | undefined): Client {
  if (fence === undefined) return client;
  const fenced = <Options extends WriteOptions>(options?: Options): Options =>
    ({ ...options, fence: options?.fence ?? fence }) as Options;
  return {
    get: (type, key, options) => client.get(type, key, options),
    list: (type, options) => client.list(type, options),
    watch: (type, options) => client.watch(type, options),
    create: (type, object, options) => client.create(type, object, fenced(options)),
    update: (type, object, options) => client.update(type, object, fenced(options)),
    patch: (type, key, patch, options) => client.patch(type, key, patch, fenced(options)),
    updateStatus: (type, object, options) => client.updateStatus(type, object, fenced(options)),
    patchStatus: (type, key, patch, options) => client.patchStatus(type, key, patch, fenced(options)),
    delete: (type, key, options) => client.delete(type, key, fenced(options)),
  };
}
