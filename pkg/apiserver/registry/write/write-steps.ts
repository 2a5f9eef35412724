import { EventLoopTurns, isStatusError, newServiceUnavailable } from '#pkg/apimachinery/index';
import type { IdempotencyKey, ReadRoom, RememberedWrite } from '#pkg/storage/index';
import { checkSameBody } from '../model/in-flight-idempotency-keys.ts';
import { groupKind, type ModelContext } from '../model/model-context.ts';
import { noObject, translateErrors } from '../model/status-from-storage.ts';
import { admitObject } from './admit-object.ts';
import { compareWithStored, convertObject, limitStoredSize } from './convert-object.ts';
import { StartAgain, type ObjectWrite } from './object-write.ts';
import { prepareObject } from './prepare-object.ts';
import { retryOnConflict } from './retry-on-conflict.ts';
import { storeObject } from './store-object.ts';
import { decodeStoredObject, readStoredObject } from './stored-object.ts';
import { authorizeContent, validateByStrategy, validateMetadata, validateSchema } from './validate-object.ts';
import { applyDefaults, copyWantedObject, pruneObject, takeWantedObject } from './wanted-object.ts';

/** One step of a write; one that does not concern the request's verb returns at once. */
export type WriteStep = (write: ObjectWrite) => void | Promise<void>;

/**
 * What happens to an object between the request and the answer, in this order: POST, PUT, PATCH, DELETE, `/status`,
 * `/scale`, and the platform's own writes. A dry run goes through all of it; the store then writes nothing.
 */
export const writeSteps: readonly WriteStep[] = [
  readStoredObject,
  decodeStoredObject,
  takeWantedObject,
  copyWantedObject,
  pruneObject,
  applyDefaults,
  admitObject,
  prepareObject,
  validateSchema,
  validateByStrategy,
  authorizeContent,
  validateMetadata,
  convertObject,
  compareWithStored,
  limitStoredSize,
  storeObject,
];

/** Times that one write starts again. */
const maxRestarts = 10;

/**
 * Runs the steps until the object is stored. Update and delete start again from the newest state when another write
 * came between; every write does when the definition was changed, or a generated name is taken.
 * @throws StatusError
 */
export function runWrite(write: ObjectWrite): Promise<void> {
  return translateErrors(write, () =>
    write.request.verb === 'create'
      ? runAttempt(write)
      : retryOnConflict(write.model.queue, write.key, write.context.signal, () => runAttempt(write)),
  );
}

async function runAttempt(write: ObjectWrite): Promise<void> {
  for (let restarts = 0; restarts < maxRestarts; restarts += 1) {
    try {
      return await runSteps(write);
    } catch (error) {
      if (!(error instanceof StartAgain)) throw error;
    }
  }
  throw newServiceUnavailable('the definition of this resource keeps changing: try again later');
}

/** Others get the event loop between two steps. */
async function runSteps(write: ObjectWrite): Promise<void> {
  const turns = new EventLoopTurns({ signal: write.context.signal });
  try {
    for (const step of writeSteps) {
      if (turns.due) await turns.next();
      const pending = step(write);
      if (pending !== undefined) await pending;
    }
  } finally {
    // Before another attempt has to wait for others, who may wait for what this one has.
    write.endAttempt();
  }
}

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
    write.isReplayed = true;
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
