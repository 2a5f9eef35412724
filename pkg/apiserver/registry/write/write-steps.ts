import { setTimeout as pause } from 'node:timers/promises';
import {
  EventLoopTurns,
  isStatusError,
  newServiceUnavailable,
  newTooManyRequests,
  type ObjectKey,
} from '#pkg/apimachinery/index';
import { isStorageError, type IdempotencyKey, type ReadBudget, type RememberedWrite } from '#pkg/storage/index';
import { checkSameBody } from '../model/in-flight-idempotency-keys.ts';
import { groupKind, type ModelContext } from '../model/model-context.ts';
import { noObject, translateErrors } from '../model/status-from-storage.ts';
import { admitObject } from './admit-object.ts';
import { compareWithStored, convertObject, limitStoredSize, sealObject, showObject } from './convert-object.ts';
import { StartAgain, type ObjectWrite } from './object-write.ts';
import { prepareObject } from './prepare-object.ts';
import { storeObject } from './store-object.ts';
import { trackFields } from './track-fields.ts';
import { decodeStoredObject, readStoredObject } from './stored-object.ts';
import { authorizeContent, validateByStrategy, validateMetadata, validateSchema } from './validate-object.ts';
import { applyDefaults, copyWantedObject, pruneObject, takeWantedObject } from './wanted-object.ts';
import type { KeyedQueue } from '../model/keyed-queue.ts';

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
  trackFields,
  validateSchema,
  validateByStrategy,
  authorizeContent,
  validateMetadata,
  convertObject,
  compareWithStored,
  limitStoredSize,
  showObject,
  sealObject,
  storeObject,
];

/** Maximum number of times that one write starts again. */
const maxRestarts = 10;

/**
 * Runs the steps until the object is stored. An update or delete starts again from the newest state after a conflict,
 * and where it fails on a state that may be outdated; every write does when the definition was changed, or a generated
 * name is taken.
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
      if (write.mayBeOutdated) write.mayBeOutdated = false;
      else if (!(error instanceof StartAgain)) throw error;
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
