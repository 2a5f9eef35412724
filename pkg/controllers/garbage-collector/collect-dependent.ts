import {
  isFenceLost,
  isStatusError,
  type AnyObject,
  type OwnerReference,
  type ResourceType,
  type Stored,
  type Writer,
} from '#pkg/apimachinery/index';
import { ignoreNotFound, type Log } from '#pkg/runtime/index';
import type { OwnerFinder } from './owner-finder.ts';
import type { OwnerKinds } from './owner-kinds.ts';

export interface CollectDependentParts {
  writer: Pick<Writer, 'patch' | 'delete'>;
  kinds: OwnerKinds;
  log: Log;
  signal: AbortSignal;
}

/**
 * `changed`: another client changed or replaced the object: read it again. `ignored`: its owner references are invalid,
 * so it stays and blocks no owner.
 */
export type DependentOutcome = 'done' | 'changed' | 'ignored';

/**
 * Applies the owner rules to an object: without an existing owner it is deleted; with one it loses the references to
 * missing owners. If its only owners wait for their dependents, it is deleted in the foreground too. Every write fails
 * if the object has changed since it was read. Source: the garbage collector of kube-controller-manager,
 * attemptToDeleteItem.
 */
export async function collectDependent(
  owners: OwnerFinder,
  type: ResourceType,
  object: Stored<AnyObject>,
  judging: CollectDependentParts,
): Promise<DependentOutcome> {
  const { metadata } = object;
  if (metadata.deletionTimestamp !== undefined) return 'done';
  const references = metadata.ownerReferences ?? [];
  const leaving: OwnerReference[] = [];
  let isWaitedFor = false;
  for (const reference of references) {
    const found = await owners.find(type, metadata.namespace, reference, judging.signal);
    if (found === 'invalid') {
      const { kind, name } = reference;
      judging.log.warn(
        { resource: type.plural, object: metadata.name, owner: { kind, name } },
        'a cluster-scoped object names a namespaced owner; it is not deleted',
      );
      return 'ignored';
    }
    if (found === 'absent' || found === 'waiting') leaving.push(reference);
    if (found === 'waiting') isWaitedFor = true;
  }
  if (leaving.length === 0) return 'done';
  const stays = references.filter((reference) => !leaving.includes(reference));
  return unlessChanged(
    stays.length > 0
      ? dropOwners(type, object, stays, judging)
      : deleteDependent(type, object, isWaitedFor && judging.kinds.isOwner(type), judging),
  );
}

/** Removes all other owner references, unless the object has changed. */
export async function dropOwners(
  type: ResourceType,
  { metadata }: Stored<AnyObject>,
  stays: readonly OwnerReference[],
  { writer, signal }: CollectDependentParts,
): Promise<void> {
  const { namespace = '', name, uid, resourceVersion } = metadata;
  const patch = {
    metadata: {
      uid,
      resourceVersion,
      ownerReferences: stays.length === 0 ? null : stays.map((reference) => ({ ...reference })),
    },
  };
  await ignoreNotFound(
    writer.patch(type, { namespace, name }, { type: 'merge', patch }, { signal, fieldValidation: 'Ignore' }),
  );
}

/** Without a policy the object's own finalizers decide. */
async function deleteDependent(
  type: ResourceType,
  { metadata }: Stored<AnyObject>,
  isOwnerWaitedFor: boolean,
  { writer, log, signal }: CollectDependentParts,
): Promise<void> {
  const { namespace = '', name, uid, resourceVersion } = metadata;
  await ignoreNotFound(
    writer.delete(
      type,
      { namespace, name },
      { uid, resourceVersion, signal, ...(isOwnerWaitedFor ? { propagationPolicy: 'Foreground' as const } : {}) },
    ),
  );
  log.debug(
    { resource: type.plural, namespace, object: name, uid },
    'deleted an object, because its owners no longer exist',
  );
}

export async function unlessChanged(write: Promise<unknown>): Promise<DependentOutcome> {
  try {
    await write;
    return 'done';
  } catch (error) {
    if (isStatusError(error, 'Conflict') && !isFenceLost(error)) return 'changed';
    throw error;
  }
}
