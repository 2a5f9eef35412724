import type { Client, Reader, Watcher } from '#pkg/apimachinery/index';
import { wrapClient } from '#pkg/client/index';

/**
 * A client that writes as `fenced` does and reads from the server. A cache may be behind, by as much as its watch is:
 * what it does not show yet would be taken for gone, and forgotten.
 */
export function freshClient(fenced: Client, server: Reader & Watcher): Client {
  return wrapClient(fenced, {
    get: (type, key, options) => server.get(type, key, options),
    list: (type, options) => server.list(type, options),
    watch: (type, options) => server.watch(type, options),
  });
}
