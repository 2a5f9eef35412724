import { foregroundFinalizer, orphanFinalizer } from '#pkg/apimachinery/index';
import type { DeleteRequest } from '../../rest/served-resource.ts';
import type { JsonApiObject } from '../../rest/strategy.ts';
import type { ModelContext } from '../model/model-context.ts';
import { terminatingObjectMeta } from './object-meta-fields.ts';
import type { ObjectWrite } from './object-write.ts';

/**
 * Decides whether the object is deleted or, because of finalizers, only marked. If the object has dependents, the
 * policies Foreground and Orphan add their own finalizer, which the garbage collector removes. A second deletion of a
 * marked object only changes the finalizer, if the policy differs. Source: k8s.io/apiserver,
 * registry/generic/registry.Store.
 */
export async function prepareDeletion(write: ObjectWrite, { propagationPolicy }: DeleteRequest): Promise<void> {
  const { model, object, context } = write;
  const isMarked = object.metadata.deletionTimestamp !== undefined;
  if (!isMarked) await model.strategy.prepareForDelete?.(object);
  const wasHeldBy = object.metadata.finalizers ?? [];
  await holdForDependents(model, { object, propagationPolicy, signal: context.signal });
  const heldBy = object.metadata.finalizers ?? [];
  write.type = heldBy.length === 0 ? 'delete' : 'update';
  write.isUnchanged = write.type === 'update' && isMarked && isSame(heldBy, wasHeldBy);
  if (write.type === 'update' && !write.isUnchanged) markForDeletion(write);
}

/** Marks the object instead of deleting it. */
export function markForDeletion(write: ObjectWrite): void {
  const { object, model } = write;
  const { finalizers = [], deletionTimestamp } = object.metadata;
  const { contentFinalizer } = model.strategy;
  write.type = 'update';
  if (contentFinalizer !== undefined && !finalizers.includes(contentFinalizer))
    object.metadata.finalizers = [...finalizers, contentFinalizer];
  if (deletionTimestamp === undefined) object.metadata = terminatingObjectMeta(object.metadata, Date.now());
}

interface Holding {
  object: JsonApiObject;
  propagationPolicy: DeleteRequest['propagationPolicy'];
  signal: AbortSignal;
}

/** A policy sets or removes the finalizers of all policies; without a policy they stay as the client set them. */
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
