import { isStatusError } from '#pkg/apimachinery/index';
import { isStorageError, type IdempotencyKey, type ReadRoom, type RememberedWrite } from '#pkg/storage/index';
import { checkSameBody } from '../model/in-flight-idempotency-keys.ts';
import { groupKind, subjectOf, type ModelContext } from '../model/model-context.ts';
import type { WriteContext } from '../../rest/served-resource.ts';
import { statusFromStorage } from '../model/status-from-storage.ts';

/**
 * Runs a write under its request's idempotency key: in flight while it runs, and where another replica carried the same request
 * out in between, the outcome is that one's.
 */
export async function idempotentWrite<T>(
  context: ModelContext,
  write: WriteContext,
  run: () => Promise<T>,
  replay: (first: RememberedWrite) => T,
): Promise<T> {
  const { idempotency: idempotencyKey } = write;
  if (idempotencyKey === undefined) return run();
  const done = context.idempotencyKeys.begin(idempotencyKey, groupKind(context));
  try {
    return await run();
  } catch (error) {
    // The first request's own doing looks like a failure to its repetition: the object exists, is gone, has changed.
    const first = isSignOfRepetition(error)
      ? await findIdempotentWrite(context, idempotencyKey, write.memory?.room)
      : undefined;
    if (first !== undefined) return replay(first);
    throw isStorageError(error) ? statusFromStorage(error, subjectOf(context, { namespace: '', name: '' })) : error;
  } finally {
    done();
  }
}

/** What the idempotency key led to; undefined if nobody used it. StatusError 422 where that was with another body. */
export async function findIdempotentWrite(
  context: ModelContext,
  idempotencyKey: IdempotencyKey,
  room?: ReadRoom,
): Promise<RememberedWrite | undefined> {
  const first = await context.store.recall(idempotencyKey, room);
  if (first !== undefined) checkSameBody(idempotencyKey, first.bodyHash, groupKind(context));
  return first;
}

function isSignOfRepetition(error: unknown): boolean {
  return isStorageError(error, 'IdempotencyKeyUsed') || (isStatusError(error) && [404, 409, 412].includes(error.code));
}
