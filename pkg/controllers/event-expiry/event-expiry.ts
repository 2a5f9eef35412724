import {
  formatTimestamp,
  isFenceLost,
  isStatusError,
  type Client,
  type Reader,
  type Stored,
} from '#pkg/apimachinery/index';
import { eventType, type Event } from '#pkg/apis/index';
import {
  ignoreNotFound,
  type ControllerDefinition,
  type ReconcileContext,
  type ReconcileResult,
} from '#pkg/runtime/index';
import { once } from '../once-source.ts';
import { inParallel } from '../parallel/in-parallel.ts';

/** How long an event is kept after it last happened, as in Kubernetes. Milliseconds. */
export const eventTtlMs = 3_600_000;
const pauseMs = 60_000;
const chunkSize = 500;
const chunksATurn = 20;
/** Enough to fill a batch of the store. */
const deletionsAtOnce = 32;

export interface EventExpiryOptions {
  /** What is read through it is never from a cache. */
  client: Reader;
  /** Default `eventTtlMs`. */
  ttlMs?: number;
}

/** Deletes events that have not happened again for an hour. */
export function eventExpiry({ client, ttlMs = eventTtlMs }: EventExpiryOptions): ControllerDefinition {
  return {
    name: 'event-expiry',
    watches: [],
    indexes: [],
    tuning: {},
    // Every look asks for the next.
    begin: () => ({
      sources: [once({ namespace: '', name: 'expired' })],
      reconcile: (_request, context) => expire(client, ttlMs, context),
    }),
  };
}

async function expire(
  reader: Reader,
  ttlMs: number,
  { client, signal }: Pick<ReconcileContext, 'client' | 'signal'>,
): Promise<ReconcileResult> {
  const end = formatTimestamp(Date.now() - ttlMs);
  let chunks = 0;
  let gone = 0;
  // Those that do not say when they last happened count from when they were made. What is marked waits for its
  // finalizers, not for us.
  for (const expired of [`lastTimestamp<${end}`, `!lastTimestamp,metadata.creationTimestamp<${end}`]) {
    const fieldSelector = `${expired},!metadata.deletionTimestamp`;
    let next: string | undefined;
    do {
      if (chunks >= chunksATurn) return { requeueAfterMs: gone > 0 ? 0 : pauseMs };
      const list = await reader.list(eventType, {
        fieldSelector,
        limit: chunkSize,
        signal,
        ...(next === undefined ? {} : { continue: next }),
      });
      await inParallel(list.items, deletionsAtOnce, async (event) => {
        if (await remove(client, event, signal)) gone += 1;
      });
      next = list.continue;
      chunks += 1;
    } while (next !== undefined);
  }
  return { requeueAfterMs: pauseMs };
}

/** Is it gone? One that happened again meanwhile stays. */
async function remove(
  client: Pick<Client, 'delete'>,
  { metadata: { namespace = '', name, resourceVersion } }: Stored<Event>,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const deletion = await ignoreNotFound(client.delete(eventType, { namespace, name }, { resourceVersion, signal }));
    return deletion?.object === undefined;
  } catch (error) {
    if (!isStatusError(error, 'Conflict') || isFenceLost(error)) throw error;
    return false;
  }
}
