import { setTimeout as pause } from 'node:timers/promises';
import { newTooManyRequests, type ObjectKey } from '#pkg/apimachinery/index';
import { isStorageError } from '#pkg/storage/index';
import type { KeyedQueue } from '../model/keyed-queue.ts';

/** Attempts of one write that conflicts with other replicas' writes of the same object. */
const maxAttempts = 10;
/** Longest average pause between two attempts. Milliseconds. */
const maxPauseMs = 100;

/**
 * Runs `attempt` until no other write came between its read and its write. The first attempt does not wait. After a
 * conflict on a key, this process's writes of that key run one after the other, so that they do not conflict with each
 * other. StatusError 429 when other replicas keep winning.
 */
export async function retryOnConflict<T>(
  queue: KeyedQueue,
  key: ObjectKey,
  signal: AbortSignal,
  attempt: () => Promise<T>,
): Promise<T> {
  const line = `${key.namespace}/${key.name}`;
  if (!queue.isBusy(line)) {
    const first = await unlessConflict(attempt);
    if (first !== undefined) return first.value;
  }
  return queue.run(line, signal, async () => {
    for (let attempts = 0; attempts < maxAttempts; attempts += 1) {
      const outcome = await unlessConflict(attempt);
      if (outcome !== undefined) return outcome.value;
      // Another replica's queue may be as long as this one: pause for a random time, so that both progress.
      await pause(Math.min(maxPauseMs, 2 ** attempts) * (0.5 + Math.random()), undefined, { signal });
    }
    throw newTooManyRequests('the object is being written to by too many others: try again later');
  });
}

async function unlessConflict<T>(attempt: () => Promise<T>): Promise<{ value: T } | undefined> {
  try {
    return { value: await attempt() };
  } catch (error) {
    if (isStorageError(error, 'Conflict')) return undefined;
    throw error;
  }
}
