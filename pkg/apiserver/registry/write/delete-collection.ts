import {
  abortError,
  compileSelector,
  formatTimestamp,
  isFenceLost,
  isStatusError,
  KeyNotComputed,
  newServiceUnavailable,
  type ApiObject,
  type ComputedKeys,
} from '#pkg/apimachinery/index';
import { isStorageError, type ChunkPosition, type ObjectChunk, type StoredObject } from '#pkg/storage/index';
import type { DeleteRequest, ListRequest } from '../../rest/served-resource.ts';
import type { WriteContext } from '../../rest/write-context.ts';
import { storeListQuery, type ModelContext } from '../model/model-context.ts';
import { ObjectWrite } from './object-write.ts';
import { runWrite } from './write-steps.ts';

/** Deletions at a time: enough to fill a batch of the store, too few to delay other requests. */
const maxParallel = 32;
/** Objects read at a time. */
const batchSize = 500;

export type CollectionRequest = ListRequest & Pick<DeleteRequest, 'propagationPolicy'>;

export interface CollectionDeletion {
  /** The revision at which the selectors choose the objects. */
  revision: number;
  /** The deleted or marked objects, as they are processed. Iterating drives the deletion. May be iterated once. */
  deleted: AsyncIterable<StoredObject[]>;
}

/**
 * Deletes the objects that the selectors match at one revision, each on its own. An object that they no longer match at
 * its turn stays, and so does one that was recreated under an old name. No idempotency key is stored: a repeated
 * request deletes the objects that match then. Only a few objects are in memory at a time.
 */
export async function deleteObjectCollection(
  context: ModelContext,
  list: CollectionRequest,
  write: WriteContext,
): Promise<CollectionDeletion> {
  const began = formatTimestamp(Date.now());
  const first = await readBatch(context, list);
  return { revision: first.revision, deleted: deleteBatches(context, { list, write, first, began }) };
}

interface DeletionBatches {
  list: CollectionRequest;
  write: WriteContext;
  first: ObjectChunk;
  began: string;
}

async function* deleteBatches(
  context: ModelContext,
  { list, write, first, began }: DeletionBatches,
): AsyncGenerator<StoredObject[]> {
  const options: DeletionOptions = {
    isStillSelected: isSelectedBy(list),
    ...(list.propagationPolicy === undefined ? {} : { propagationPolicy: list.propagationPolicy }),
  };
  let chunk = first;
  let wanted = chunk.items;
  for (;;) {
    yield await deleteBatch(context, wanted, write, options);
    const { next } = chunk;
    if (next === undefined) return;
    chunk = await readBatch(context, list, next);
    // History was compacted: of the current objects, keep only those that existed when the request began.
    const isLater = chunk.revision !== first.revision;
    wanted = isLater
      ? chunk.items.filter(({ body }) => (metadataOf(body).creationTimestamp ?? '') <= began)
      : chunk.items;
  }
}

/** The objects are together no larger than a chunk, so memory to parse them is reserved once. */
async function deleteBatch(
  context: ModelContext,
  objects: readonly StoredObject[],
  write: WriteContext,
  options: DeletionOptions,
): Promise<StoredObject[]> {
  const end = await write.memory?.parse(
    objects.reduce((sum, { body }) => sum + body.length, 0),
    { isPatient: true },
  );
  try {
    return await deleteObjects(context, objects, write, options);
  } finally {
    end?.();
  }
}

function isSelectedBy({ selector }: ListRequest): NonNullable<DeleteRequest['isStillSelected']> {
  const matches = compileSelector(selector);
  return (object, { keys }) => {
    try {
      return matches(object, keys === undefined ? undefined : (JSON.parse(keys) as ComputedKeys));
    } catch (error) {
      throw error instanceof KeyNotComputed
        ? newServiceUnavailable('an index that the request asks for is being built', 5)
        : error;
    }
  };
}

async function readBatch(
  { store, resource }: ModelContext,
  list: ListRequest,
  after?: ChunkPosition,
): Promise<ObjectChunk> {
  const query = { ...storeListQuery(list), sort: [], limit: batchSize };
  if (after === undefined) return store.chunk(resource, query);
  try {
    return await store.chunk(resource, { ...query, after });
  } catch (error) {
    if (!isStorageError(error, 'Compacted')) throw error;
    return store.chunk(resource, { ...query, after: { ...after, revision: 0 } });
  }
}

type DeletionOptions = Pick<DeleteRequest, 'propagationPolicy' | 'isStillSelected'>;

/** Deletes each of these objects that still exists with the same uid; returns those that are deleted or marked now. */
export async function deleteObjects(
  context: ModelContext,
  objects: readonly StoredObject[],
  write: WriteContext,
  options: DeletionOptions = {},
): Promise<StoredObject[]> {
  const targets = objects.toReversed();
  const deleted: StoredObject[] = [];
  const worker = async (): Promise<void> => {
    for (let target = targets.pop(); target !== undefined; target = targets.pop()) {
      if (write.signal.aborted) throw abortError(write.signal);
      const object = await deleteUnlessGone(context, target, write, options);
      if (object !== undefined) deleted.push(object);
    }
  };
  // After a failure the other workers finish their current object, so that nothing runs after the response.
  const workers = await Promise.allSettled(Array.from({ length: maxParallel }, () => worker().catch(stopAll(targets))));
  const failed = workers.find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
  return deleted;
}

function stopAll(targets: StoredObject[]): (error: unknown) => never {
  return (error) => {
    targets.length = 0;
    throw error;
  };
}

async function deleteUnlessGone(
  context: ModelContext,
  { namespace, name, body }: StoredObject,
  write: WriteContext,
  options: DeletionOptions,
): Promise<StoredObject | undefined> {
  const { uid } = metadataOf(body);
  const deletion = new ObjectWrite(context, write, {
    verb: 'delete',
    ...options,
    key: { namespace, name },
    preconditions: uid === undefined ? {} : { uid },
  });
  // The memory is already reserved for all objects of this turn.
  deletion.memory = undefined;
  try {
    await runWrite(deletion);
    return deletion.stored;
  } catch (error) {
    if (isFenceLost(error)) throw error;
    if (isStatusError(error, 'NotFound') || isStatusError(error, 'Conflict')) return undefined;
    throw error;
  }
}

function metadataOf(body: string): ApiObject['metadata'] {
  return (JSON.parse(body) as ApiObject).metadata;
}
