import {
  abortError,
  isStatusError,
  pause,
  type AnyObject,
  type ObjectKey,
  type Reader,
  type ResourceType,
  type Stored,
} from '#pkg/apimachinery/index';
import { ItemBackoff } from '#pkg/runtime/index';
import { isTransient } from './retry-races.ts';

/** Undefined if the object or its namespace does not exist; `unserved` if its type is not served. */
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
    // A 404 without the object's name is about its type.
    return error.details?.name === undefined ? 'unserved' : undefined;
  }
}

/** Polls until `read` has a result; undefined after `timeoutMs`. Transient errors are retried. */
export async function pollForResult<T>(
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
      if (signal.aborted || !isTransient(error)) throw error;
    }
    const left = end - performance.now();
    if (left <= 0) return undefined;
    await pause(Math.min(left, backoff.delay('')), signal);
  }
}
