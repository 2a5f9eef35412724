import { foregroundFinalizer, newNotFound, orphanFinalizer } from '#pkg/apimachinery/index';
import { isStorageError, type StoredObject } from '#pkg/storage/index';
import { subjectOf, unchanged, writeOptions, type ModelContext } from '../model/model-context.ts';
import { terminatingObjectMeta } from './object-meta-fields.ts';
import { checkPreconditions } from './check-preconditions.ts';
import { retryOnConflict } from './retry-on-conflict.ts';
import type { DeleteRequest, WriteContext } from '../../rest/served-resource.ts';
import { statusFromStorage } from '../model/status-from-storage.ts';
import type { JsonApiObject } from '../../rest/strategy.ts';

/** A deletion as it is stored; `object` is the final state, or the one that waits for its finalizers. */
export interface StoredDeletion {
  deleted: boolean;
  object: StoredObject;
}

/**
 * Deletes an object, or marks it where finalizers hold it. Foreground and Orphan hold it by one of their own, for the
 * garbage collector to take away, if it has dependents. A second deletion of a marked one changes nothing, but for the
 * finalizer of another policy. Source: k8s.io/apiserver, registry/generic/registry.Store.
 */
export async function deleteObject(
  context: ModelContext,
  request: DeleteRequest,
  write: WriteContext,
): Promise<StoredDeletion> {
  try {
    return await retryOnConflict(context.queue, request.key, write.signal, () => deleteOnce(context, request, write));
  } catch (error) {
    if (!isStorageError(error) || error.code === 'IdempotencyKeyUsed') throw error;
    throw statusFromStorage(error, subjectOf(context, request.key));
  }
}

async function deleteOnce(context: ModelContext, request: DeleteRequest, write: WriteContext): Promise<StoredDeletion> {
  const { key } = request;
  const { store, resource } = context;
  const from = await store.get(resource, key, write.memory?.room);
  if (from === undefined) throw newNotFound(resource, key.name);
  const end = await write.memory?.parse(from.body.length);
  try {
    return await deleteFrom(context, from, request, write);
  } finally {
    end?.();
  }
}

async function deleteFrom(
  context: ModelContext,
  from: StoredObject,
  request: DeleteRequest,
  write: WriteContext,
): Promise<StoredDeletion> {
  const { key, preconditions, propagationPolicy, isMeant = () => true } = request;
  const { store, resource, codec, strategy } = context;
  const object = codec.toStored(codec.decode(from));
  if (!isMeant(object, from)) throw newNotFound(resource, key.name);
  checkPreconditions(context, preconditions, object.metadata);
  const isMarked = object.metadata.deletionTimestamp !== undefined;
  if (!isMarked) await strategy.prepareForDelete?.(object);
  const wasHeldBy = object.metadata.finalizers ?? [];
  await holdForDependents(context, { object, propagationPolicy, signal: write.signal });
  const { contentFinalizer } = strategy;
  const heldBy = object.metadata.finalizers ?? [];
  const commit = (type: 'update' | 'delete'): Promise<StoredObject> => {
    const run = (): Promise<StoredObject> =>
      store.write({ type, resource, object, fingerprint: codec.fingerprint, from }, writeOptions(write));
    return strategy.commit?.({ type, object, from, dryRun: write.dryRun, signal: write.signal }, run) ?? run();
  };
  if (heldBy.length === 0) {
    try {
      return { deleted: true, object: await commit('delete') };
    } catch (error) {
      if (contentFinalizer === undefined || !isStorageError(error, 'NamespaceNotEmpty')) throw error;
    }
  }
  if (heldBy.length > 0 && isMarked && isSame(heldBy, wasHeldBy))
    return { deleted: false, object: await unchanged(context, write, from) };
  if (contentFinalizer !== undefined && !heldBy.includes(contentFinalizer))
    object.metadata.finalizers = [...heldBy, contentFinalizer];
  if (!isMarked) object.metadata = terminatingObjectMeta(object.metadata, Date.now());
  return { deleted: false, object: await commit('update') };
}

interface Holding {
  object: JsonApiObject;
  propagationPolicy: DeleteRequest['propagationPolicy'];
  signal: AbortSignal;
}

/** A policy decides whichever of its finalizers are there; without one they are left as the client set them. */
async function holdForDependents(
  { dependents }: ModelContext,
  { object, propagationPolicy, signal }: Holding,
): Promise<void> {
  if (propagationPolicy === undefined) return;
  const { finalizers = [], uid = '', namespace = '' } = object.metadata;
  const wanted = { Background: undefined, Foreground: foregroundFinalizer, Orphan: orphanFinalizer }[propagationPolicy];
  const kept = finalizers.filter(
    (finalizer) => finalizer === wanted || (finalizer !== foregroundFinalizer && finalizer !== orphanFinalizer),
  );
  const isAdded =
    wanted !== undefined && !kept.includes(wanted) && (await dependents.hasAny({ uid, namespace }, signal));
  if (kept.length < finalizers.length || isAdded) object.metadata.finalizers = isAdded ? [...kept, wanted] : kept;
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((finalizer, i) => finalizer === b[i]);
}
