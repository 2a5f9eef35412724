import { EventLoopTurns, newServiceUnavailable } from '#pkg/apimachinery/index';
import { translateErrors } from '../model/status-from-storage.ts';
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
