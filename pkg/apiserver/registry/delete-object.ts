import { newNotFound } from '#pkg/apimachinery/index';
import { isStorageError, type StoredObject } from '#pkg/storage/index';
import { subjectOf, unchanged, writeOptions, type ModelContext } from './model-context.ts';
import { terminatingObjectMeta } from './object-meta-fields.ts';
import { checkPreconditions } from './preconditions.ts';
import { retryOnConflict } from './retry-on-conflict.ts';
import type { DeleteRequest, WriteContext } from './served-resource.ts';
import { statusFromStorage } from './status-from-storage.ts';

/** A deletion as it is stored; `object` is the final state, or the one that waits for its finalizers. */
export interface StoredDeletion {
  deleted: boolean;
  object: StoredObject;
}

/**
 * Deletes an object, or marks it where finalizers hold it: a second deletion of a marked one changes nothing. Without a garbage collector there are
 * no dependants to wait for, so every propagation policy is done at once.
 */
export async function deleteObject(context: ModelContext, request: DeleteRequest, write: WriteContext): Promise<StoredDeletion> {
  try {
    return await retryOnConflict(context.queue, request.key, write.signal, () => deleteOnce(context, request, write));
  } catch (error) {
    if (!isStorageError(error) || error.code === 'ClaimTaken') throw error;
    throw statusFromStorage(error, subjectOf(context, request.key));
  }
}

async function deleteOnce(context: ModelContext, { key, preconditions }: DeleteRequest, write: WriteContext): Promise<StoredDeletion> {
  const { store, resource, codec, strategy } = context;
  const from = await store.get(resource, key);
  if (from === undefined) throw newNotFound(resource, key.name);
  const object = codec.toStored(codec.decode(from));
  checkPreconditions(context, preconditions, object.metadata);
  const isMarked = object.metadata.deletionTimestamp !== undefined;
  if (!isMarked) strategy.prepareForDelete?.(object);
  const isHeld = (object.metadata.finalizers ?? []).length > 0;
  if (isHeld && isMarked) return { deleted: false, object: await unchanged(context, write, from) };
  if (isHeld) object.metadata = terminatingObjectMeta(object.metadata, Date.now());

  const type = isHeld ? 'update' : 'delete';
  const commit = (): Promise<StoredObject> => store.write({ type, resource, object, fingerprint: codec.fingerprint, from }, writeOptions(write));
  return { deleted: !isHeld, object: await (strategy.commit?.({ type, object, from, dryRun: write.dryRun, signal: write.signal }, commit) ?? commit()) };
}
