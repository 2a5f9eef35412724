import {
  foregroundFinalizer,
  orphanFinalizer,
  type AnyObject,
  type OwnerReference,
  type Reader,
  type ResourceType,
  type Stored,
} from '#pkg/apimachinery/index';
import { hasFinalizer, ignoreNotFound, removeFinalizer, type ReconcileResult } from '#pkg/runtime/index';
import { Failures } from '../parallel/failures.ts';
import { inParallel } from '../parallel/in-parallel.ts';
import { dropOwners, collectDependent, unlessChanged, type CollectDependentParts } from './collect-dependent.ts';
import { ownedBy, readChunks } from './owned-objects.ts';
import { isDeletedInForeground, type OwnerFinder } from './owner-finder.ts';

export const parallelTypes = 8;
/** Dependents of one type: enough to fill a batch of the store. */
export const parallelDependents = 32;
/** Events report changes of dependents; this requeue covers everything else that may unblock an owner. Milliseconds. */
const requeueMs = 5000;
const changedMs = 100;

export interface Finishing {
  reader: Reader;
  owners: OwnerFinder;
  judging: CollectDependentParts;
}

/** Whether it waits for the collector. */
export function isHeldByCollector(object: AnyObject): boolean {
  return (
    object.metadata.deletionTimestamp !== undefined &&
    (hasFinalizer(object, foregroundFinalizer) || hasFinalizer(object, orphanFinalizer))
  );
}

/** Removes a deleted owner from its dependents, then removes the owner's finalizer. */
export async function orphanDependents(
  type: ResourceType,
  owner: Stored<AnyObject>,
  finishing: Finishing,
): Promise<ReconcileResult> {
  let isChanged = false;
  // All possible types: a new dependent must not be missed because its event has not arrived yet.
  const types = finishing.judging.kinds.typesBelow(type);
  const count = await eachDependent(owner, { types, type, finishing }, async (dependentType, dependent) => {
    const stays = (dependent.metadata.ownerReferences ?? []).filter(({ uid }) => uid !== owner.metadata.uid);
    if ((await unlessChanged(dropOwners(dependentType, dependent, stays, finishing.judging))) === 'changed')
      isChanged = true;
  });
  // Dependents may have changed or been added meanwhile; the next pass must find none.
  if (isChanged || count > 0) return { requeueAfterMs: isChanged ? changedMs : 0 };
  return removeOwnerFinalizer(type, owner, orphanFinalizer, finishing.judging);
}

/** Deletes the dependents of an owner in foreground deletion; removes its finalizer once no dependent blocks it. */
export async function deleteDependents(
  type: ResourceType,
  owner: Stored<AnyObject>,
  finishing: Finishing,
): Promise<ReconcileResult> {
  let isBlocked = false;
  let isChanged = false;
  const types = finishing.judging.kinds.dependentsOf(type);
  await eachDependent(owner, { types, type, finishing }, async (dependentType, dependent) => {
    const references = (dependent.metadata.ownerReferences ?? []).filter(({ uid }) => uid === owner.metadata.uid);
    const verdict = await collectDependent(finishing.owners, dependentType, dependent, finishing.judging);
    if (verdict === 'changed') isChanged = true;
    if (verdict !== 'ignored' && references.some(({ blockOwnerDeletion }) => blockOwnerDeletion === true))
      isBlocked = true;
  });
  if (isChanged) return { requeueAfterMs: changedMs };
  if (!isBlocked) return removeOwnerFinalizer(type, owner, foregroundFinalizer, finishing.judging);
  if (await isInOwnerCycle(type, owner, finishing)) return unblockOwners(type, owner, finishing.judging);
  return { requeueAfterMs: requeueMs };
}

/** Runs `work` for every dependent of the owner among these types, except the owner itself; returns their number. */
async function eachDependent(
  { metadata }: Stored<AnyObject>,
  { types, type, finishing }: { types: readonly ResourceType[]; type: ResourceType; finishing: Finishing },
  work: (type: ResourceType, object: Stored<AnyObject>) => Promise<void>,
): Promise<number> {
  const { reader, judging } = finishing;
  const failures = new Failures();
  let count = 0;
  const { signal } = judging;
  await inParallel(types, parallelTypes, async (candidate) => {
    for await (const chunk of readChunks(reader, candidate, { fieldSelector: ownedBy([metadata.uid]), signal })) {
      signal.throwIfAborted();
      const dependents = chunk.filter(
        (each) =>
          each.metadata.uid !== metadata.uid && (!type.namespaced || each.metadata.namespace === metadata.namespace),
      );
      count += dependents.length;
      await inParallel(dependents, parallelDependents, (dependent) =>
        failures.attempt(() => work(candidate, dependent)),
      );
    }
  });
  failures.rethrow();
  return count;
}

async function removeOwnerFinalizer(
  type: ResourceType,
  owner: Stored<AnyObject>,
  finalizer: string,
  { writer, signal }: CollectDependentParts,
): Promise<ReconcileResult> {
  signal.throwIfAborted();
  const verdict = await unlessChanged(ignoreNotFound(removeFinalizer(writer, type, owner, finalizer)));
  return verdict === 'changed' ? { requeueAfterMs: changedMs } : undefined;
}

/** Whether the owner is part of a cycle of owners that wait for their dependents. */
async function isInOwnerCycle(type: ResourceType, owner: Stored<AnyObject>, finishing: Finishing): Promise<boolean> {
  const seen = new Set<string>();
  let next = await waitingOwners(type, owner, finishing);
  while (next.length > 0) {
    if (next.some(({ object }) => object.metadata.uid === owner.metadata.uid)) return true;
    const fresh = next.filter(({ object }) => !seen.has(object.metadata.uid));
    for (const { object } of fresh) seen.add(object.metadata.uid);
    next = (await Promise.all(fresh.map((each) => waitingOwners(each.type, each.object, finishing)))).flat();
  }
  return false;
}

interface TypedObject {
  type: ResourceType;
  object: Stored<AnyObject>;
}

/** The object's owners in foreground deletion. */
async function waitingOwners(
  type: ResourceType,
  { metadata }: Stored<AnyObject>,
  { reader, owners, judging }: Finishing,
): Promise<TypedObject[]> {
  const found: TypedObject[] = [];
  for (const reference of (metadata.ownerReferences ?? []).filter(
    ({ blockOwnerDeletion }) => blockOwnerDeletion === true,
  )) {
    const ownerType = owners.typeOf(reference);
    const id = owners.idOf(type, metadata.namespace, reference);
    if (ownerType === undefined || id === undefined) continue;
    const object = await ignoreNotFound(reader.get(ownerType, id, { signal: judging.signal }));
    if (object?.metadata.uid === id.uid && isDeletedInForeground(object)) found.push({ type: ownerType, object });
  }
  return found;
}

/** Breaks a cycle of owners, which would wait for each other for ever. */
async function unblockOwners(
  type: ResourceType,
  { metadata }: Stored<AnyObject>,
  { writer, signal }: CollectDependentParts,
): Promise<ReconcileResult> {
  const { namespace = '', name, uid, resourceVersion } = metadata;
  const ownerReferences = (metadata.ownerReferences ?? []).map((reference: OwnerReference) => ({
    ...reference,
    blockOwnerDeletion: false,
  }));
  const patch = { metadata: { uid, resourceVersion, ownerReferences } };
  await unlessChanged(
    ignoreNotFound(
      writer.patch(type, { namespace, name }, { type: 'merge', patch }, { signal, fieldValidation: 'Ignore' }),
    ),
  );
  return { requeueAfterMs: changedMs };
}
