import { isStatusError } from '#pkg/apimachinery/index';
import { isStorageError, type IdempotencyClaim, type ReadRoom, type RememberedWrite } from '#pkg/storage/index';
import { checkSameBody } from '../model/in-flight-claims.ts';
import { kindOf, subjectOf, type ModelContext } from '../model/model-context.ts';
import type { WriteContext } from '../../rest/served-resource.ts';
import { statusFromStorage } from '../model/status-from-storage.ts';

/**
 * Runs a write under its request's claim: in flight while it runs, and where another replica carried the same request
 * out in between, the outcome is that one's.
 */
export async function claimedWrite<T>(
  context: ModelContext,
  write: WriteContext,
  run: () => Promise<T>,
  replay: (first: RememberedWrite) => T,
): Promise<T> {
  const { idempotency: claim } = write;
  if (claim === undefined) return run();
  const done = context.claims.begin(claim, kindOf(context));
  try {
    return await run();
  } catch (error) {
    // The first request's own doing looks like a failure to its repetition: the object exists, is gone, has changed.
    const first = isSignOfRepetition(error) ? await recallWrite(context, claim, write.memory?.room) : undefined;
    if (first !== undefined) return replay(first);
    throw isStorageError(error) ? statusFromStorage(error, subjectOf(context, { namespace: '', name: '' })) : error;
  } finally {
    done();
  }
}

/** What the claim led to; undefined if nobody used it. StatusError 422 where that was with another body. */
export async function recallWrite(
  context: ModelContext,
  claim: IdempotencyClaim,
  room?: ReadRoom,
): Promise<RememberedWrite | undefined> {
  const first = await context.store.recall(claim, room);
  if (first !== undefined) checkSameBody(claim, first.bodyHash, kindOf(context));
  return first;
}

function isSignOfRepetition(error: unknown): boolean {
  return isStorageError(error, 'ClaimTaken') || (isStatusError(error) && [404, 409, 412].includes(error.code));
}
