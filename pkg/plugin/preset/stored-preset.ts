import { setTimeout as delay } from 'node:timers/promises';
import {
  abortError,
  isStatusError,
  type AnyObject,
  type ObjectKey,
  type Reader,
  type ResourceType,
  type Stored,
} from '#pkg/apimachinery/index';
import { ItemBackoff } from '#pkg/runtime/index';
import { isPassing } from './retry-races.ts';

/** Undefined where there is no such object, or no such namespace; `unserved` where its type is out of reach. */
export async function readStored(
  client: Pick<Reader, 'get'>,
  type: ResourceType,
  key: ObjectKey,
  signal: AbortSignal,
): Promise<Stored<AnyObject> | 'unserved' | undefined> {
  try {
    return await client.get(type, key, { signal });
  } catch (error) {
    if (!isStatusError(error, 'NotFound')) throw error;
    // Only what is known by its name is known to be gone.
    return error.details?.name === undefined ? 'unserved' : undefined;
  }
}

/** Looks until there is an answer, or the time is over: undefined then. What cannot be asked for now is asked again. */
export async function pollUntil<T>(
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
  look: () => Promise<T | undefined>,
): Promise<T | undefined> {
  const end = performance.now() + timeoutMs;
  const backoff = new ItemBackoff({ baseMs: 10, maxMs: 500 });
  for (;;) {
    if (signal.aborted) throw abortError(signal);
    try {
      const found = await look();
      if (found !== undefined) return found;
    } catch (error) {
      if (signal.aborted || !isPassing(error)) throw error;
    }
    const left = end - performance.now();
    if (left <= 0) return undefined;
    await delay(Math.min(left, backoff.delay('')), undefined, { signal }).catch(() => undefined);
  }
}
