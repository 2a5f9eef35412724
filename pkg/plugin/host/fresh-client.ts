import type { Client, Reader, Watcher } from '#pkg/apimachinery/index';
import { wrapClient } from '#pkg/client/index';

/**
 * A client that writes through `fenced` and reads from the server. A cache may lag, and an object that it does not show
 * yet would count as deleted.
 */
export function freshClient(fenced: Client, server: Reader & Watcher): Client {
  return wrapClient(fenced, {
    get: (type, key, options) => server.get(type, key, options),
    list: (type, options) => server.list(type, options),
    watch: (type, options) => server.watch(type, options),
  });
}
