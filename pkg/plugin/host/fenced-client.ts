import type { Client, Fence } from '#pkg/apimachinery/index';
import { wrapClient } from '#pkg/client/index';

/** A client whose writes hold only while the lease is whose it was, unless they name another. */
export function fencedClient(client: Client, fence: Fence | undefined): Client {
  if (fence === undefined) return client;
  return wrapClient(client, { write: ({ options }, send) => send({ ...options, fence: options?.fence ?? fence }) });
}
