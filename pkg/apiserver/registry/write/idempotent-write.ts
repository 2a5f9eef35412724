import { isStatusError } from '#pkg/apimachinery/index';
import type { IdempotencyKey, ReadRoom, RememberedWrite } from '#pkg/storage/index';
import { checkSameBody } from '../model/in-flight-idempotency-keys.ts';
import { groupKind, type ModelContext } from '../model/model-context.ts';
import { translateErrors, noObject } from '../model/status-from-storage.ts';
import type { ObjectWrite } from './object-write.ts';
import { runWrite } from './write-steps.ts';

/**
 * Runs a write under its request's idempotency key, if it has one: in flight while it runs, and where another replica
 * carried the same request out in between, the outcome is that one's.
 */
export async function runIdempotentWrite(write: ObjectWrite): Promise<void> {
  const { model, context } = write;
  const { idempotency: idempotencyKey, memory } = context;
  if (idempotencyKey === undefined) return runWrite(write);
  const done = model.idempotencyKeys.begin(idempotencyKey, groupKind(model));
  try {
    await runWrite(write);
  } catch (error) {
    // The first request's own doing looks like a failure to its repetition: the object exists, is gone, has changed.
    const first = isSignOfRepetition(error)
      ? await findIdempotentWrite(model, idempotencyKey, memory?.room)
      : undefined;
    if (first === undefined) throw error;
    write.type = first.type;
    write.stored = first.object;
  } finally {
    done();
  }
}

/** What the idempotency key led to; undefined if nobody used it. StatusError 422 where that was with another body. */
export async function findIdempotentWrite(
  model: ModelContext,
  idempotencyKey: IdempotencyKey,
  room?: ReadRoom,
): Promise<RememberedWrite | undefined> {
  const first = await translateErrors({ model, key: noObject }, () =>
    model.store.findRememberedWrite(idempotencyKey, room),
  );
  if (first !== undefined) checkSameBody(idempotencyKey, first.bodyHash, groupKind(model));
  return first;
}

function isSignOfRepetition(error: unknown): boolean {
  return isStatusError(error) && [404, 409, 412].includes(error.code);
}
