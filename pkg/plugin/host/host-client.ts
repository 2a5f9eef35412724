import type { Client, Fence, Reader, Watcher } from '#pkg/apimachinery/index';
import { wrapClient } from '#pkg/client/index';
import type { EventSink } from '#pkg/runtime/index';

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

/** A client whose writes fail once the fence's lease has another holder; a call can name another fence. */
export function fencedClient(client: Client, fence: Fence | undefined): Client {
  if (fence === undefined) return client;
  return wrapClient(client, { write: ({ options }, send) => send({ ...options, fence: options?.fence ?? fence }) });
}

/** A sink whose events are dropped once the fence's lease has another holder. */
export function fencedEvents(events: EventSink, fence: Fence | undefined): EventSink {
  if (fence === undefined) return events;
  return { record: (object, facts, options) => events.record(object, facts, { fence, ...options }) };
}
