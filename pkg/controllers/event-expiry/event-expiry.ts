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
import { onceSource } from '../once-source.ts';
import { inParallel } from '../parallel/in-parallel.ts';

/** How long an event is kept after its last occurrence and after its creation. Milliseconds. Kubernetes has the same. */
export const eventTtlMs = 3_600_000;
const pauseMs = 60_000;
const chunkSize = 500;
const chunksPerRun = 20;
/** Enough to fill a batch of the store. */
const parallelDeletions = 32;

export interface EventExpiryOptions {
  /** Must not read from a cache. */
  client: Reader;
  /** Default `eventTtlMs`. */
  ttlMs?: number;
}

/**
 * Deletes events that have not recurred for an hour. One that tells of something older, for example because it was moved
 * here from a cluster, is kept for an hour, too.
 */
export function eventExpiry({ client, ttlMs = eventTtlMs }: EventExpiryOptions): ControllerDefinition {
  return {
    name: 'event-expiry',
    watches: [],
    indexes: [],
    tuning: {},
    // Every reconcile requests the next one.
    begin: () => ({
      sources: [onceSource({ namespace: '', name: 'expired' })],
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
  // Events with a deletionTimestamp wait for their finalizers.
  for (const expired of [`lastTimestamp<${end}`, '!lastTimestamp']) {
    const fieldSelector = `${expired},metadata.creationTimestamp<${end},!metadata.deletionTimestamp`;
    let next: string | undefined;
    do {
      if (chunks >= chunksPerRun) return { requeueAfterMs: gone > 0 ? 0 : pauseMs };
      const list = await reader.list(eventType, {
        fieldSelector,
        limit: chunkSize,
        signal,
        ...(next === undefined ? {} : { continue: next }),
      });
      await inParallel(list.items, parallelDeletions, async (event) => {
        if (await remove(client, event, signal)) gone += 1;
      });
      next = list.continue;
      chunks += 1;
    } while (next !== undefined);
  }
  return { requeueAfterMs: pauseMs };
}

/** True if it was deleted. An event that recurred meanwhile stays. */
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
