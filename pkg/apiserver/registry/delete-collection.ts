import { isStatusError, type ApiObject, type ObjectKey } from '#pkg/apimachinery/index';
import type { StoredObject } from '#pkg/storage/index';
import { abortError } from './abort-error.ts';
import { deleteObject } from './delete-object.ts';
import { listQuery } from './list-query.ts';
import type { ModelContext } from './model-context.ts';
import type { ListRequest, WriteContext } from './served-resource.ts';
import { withoutClaim } from './write-context.ts';

/** Deletions under way at a time: enough to fill a batch of the store, too few to crowd others out. */
const parallel = 32;

export interface CollectionDeletion {
  list: ListRequest;
  write: WriteContext;
  /** Told of each object that is gone or marked now. */
  onDeleted?: (object: StoredObject) => void;
  /** Pass over those that wait for their finalizers already, and take at most this many. Default: all that match. */
  unmarked?: number;
}

interface Target extends ObjectKey {
  uid: string | undefined;
}

/**
 * Deletes what the selectors match at one moment, each object on its own; one made anew under an old name meanwhile stays.
 * A claim is not kept: repeated, the request deletes what matches then. Resolves with the number of objects it went for.
 */
export async function deleteCollection(context: ModelContext, { list, write: request, onDeleted, unmarked }: CollectionDeletion): Promise<number> {
  const write = withoutClaim(request);
  // Keys only, and the snapshot is let go before the first deletion.
  const targets = await matchingKeys(context, list, unmarked);
  const { length } = targets;
  const worker = async (): Promise<void> => {
    for (let target = targets.pop(); target !== undefined; target = targets.pop()) {
      if (write.signal.aborted) throw abortError(write.signal);
      const object = await deleteUnlessGone(context, target, write);
      if (object !== undefined) onDeleted?.(object);
    }
  };
  // After a failure the others finish what they are at, and nothing goes on behind the answer.
  const workers = await Promise.allSettled(Array.from({ length: parallel }, () => worker().catch(stopAll(targets))));
  const failed = workers.find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
  return length;
}

function stopAll(targets: Target[]): (error: unknown) => never {
  return (error) => {
    targets.length = 0;
    throw error;
  };
}

async function matchingKeys({ store, resource }: ModelContext, list: ListRequest, unmarked: number | undefined): Promise<Target[]> {
  const stream = await store.stream(resource, { ...listQuery(list), order: 'sort' });
  const targets: Target[] = [];
  try {
    for await (const objects of stream.objects) {
      for (const object of objects) {
        const { uid, deletionTimestamp } = (JSON.parse(object.body) as ApiObject).metadata;
        if (unmarked === undefined || deletionTimestamp === undefined) targets.push({ namespace: object.namespace, name: object.name, uid });
        if (targets.length === unmarked) return targets.toReversed();
      }
    }
  } finally {
    await stream.close();
  }
  return targets.toReversed();
}

async function deleteUnlessGone(context: ModelContext, { namespace, name, uid }: Target, write: WriteContext): Promise<StoredObject | undefined> {
  try {
    const request = { key: { namespace, name }, preconditions: uid === undefined ? {} : { uid } };
    return (await deleteObject(context, request, write)).object;
  } catch (error) {
    if (isStatusError(error, 'NotFound') || isStatusError(error, 'Conflict')) return undefined;
    throw error;
  }
}
