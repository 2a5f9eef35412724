import type { Client, Fence } from '#pkg/apimachinery/index';
import { wrapClient } from '#pkg/client/index';

/** A client whose writes fail once the fence's lease has another holder; a call can name another fence. */
export function fencedClient(client: Client, fence: Fence | undefined): Client {
  if (fence === undefined) return client;
  return wrapClient(client, { write: ({ options }, send) => send({ ...options, fence: options?.fence ?? fence }) });
}
