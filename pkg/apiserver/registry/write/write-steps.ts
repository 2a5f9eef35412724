import { EventLoopTurns, isStatusError, newServiceUnavailable } from '#pkg/apimachinery/index';
import type { IdempotencyKey, ReadBudget, RememberedWrite } from '#pkg/storage/index';
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

/** One step of a write. A step that does not apply to the request's verb returns at once. */
export type WriteStep = (write: ObjectWrite) => void | Promise<void>;

/**
 * The steps of every write, in this order: POST, PUT, PATCH, DELETE, `/status`, `/scale`, and the platform's own
 * writes. A dry run passes through all of them, but the store writes nothing.
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

/** Maximum number of times that one write starts again. */
const maxRestarts = 10;

/**
 * Runs the steps until the object is stored. An update or delete starts again from the newest state after a conflict;
 * every write does when the definition was changed, or a generated name is taken.
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

/** Yields to the event loop between two steps. */
async function runSteps(write: ObjectWrite): Promise<void> {
  const turns = new EventLoopTurns({ signal: write.context.signal });
  try {
    for (const step of writeSteps) {
      if (turns.due) await turns.next();
      const pending = step(write);
      if (pending !== undefined) await pending;
    }
  } finally {
    // Release memory before the next attempt waits: other writes may wait for this memory.
    write.endAttempt();
  }
}

/**
 * Runs a write under its request's idempotency key, if it has one. The key is in flight while the write runs. If
 * another replica has carried out the same request meanwhile, its outcome is returned.
 */
export async function runIdempotentWrite(write: ObjectWrite): Promise<void> {
  const { model, context } = write;
  const { idempotency: idempotencyKey, memory } = context;
  if (idempotencyKey === undefined) return runWrite(write);
  const done = model.idempotencyKeys.begin(idempotencyKey, groupKind(model));
  try {
    await runWrite(write);
  } catch (error) {
    // The effect of the first request looks like a failure to its repetition: the object exists, is gone, or has
    // changed.
    const first = isSignOfRepetition(error)
      ? await findIdempotentWrite(model, idempotencyKey, memory?.readBudget)
      : undefined;
    if (first === undefined) throw error;
    write.type = first.type;
    write.stored = first.object;
    write.isReplayed = true;
  } finally {
    done();
  }
}

/**
 * The outcome of the idempotency key; undefined if the key is unused. StatusError 422 where the first request had
 * another body.
 */
export async function findIdempotentWrite(
  model: ModelContext,
  idempotencyKey: IdempotencyKey,
  readBudget?: ReadBudget,
): Promise<RememberedWrite | undefined> {
  const first = await translateErrors({ model, key: noObject }, () =>
    model.store.findRememberedWrite(idempotencyKey, readBudget),
  );
  if (first !== undefined) checkSameBody(idempotencyKey, first.bodyHash, groupKind(model));
  return first;
}

function isSignOfRepetition(error: unknown): boolean {
  return isStatusError(error) && [404, 409, 412].includes(error.code);
}
