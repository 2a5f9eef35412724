import { EventLoopTurns, fieldError, newNotFound, type JsonObject, type ObjectMeta } from '#pkg/apimachinery/index';
import { isStorageError, type StoredObject } from '#pkg/storage/index';
import type { Preconditions, UpdateRequest, WriteContext } from '../../rest/served-resource.ts';
import type { JsonApiObject } from '../../rest/strategy.ts';
import { warningOnce } from '../../rest/write-context.ts';
import { cloneJson, equalJson } from '../../schema/json-value.ts';
import { subjectOf, unchanged, writeOptions, type ModelContext } from '../model/model-context.ts';
import { statusFromStorage } from '../model/status-from-storage.ts';
import { checkStoredSize } from '../model/version-codec.ts';
import { checkPreconditions } from './check-preconditions.ts';
import { isSameObject } from './is-same-object.ts';
import { changedObjectMeta, statusObjectMeta } from './object-meta-fields.ts';
import { checkIdentity, readWrittenObject } from './read-written-object.ts';
import { retryOnConflict } from './retry-on-conflict.ts';
import { checkPresent, underPresentModel } from './under-present-model.ts';
import { refuse, validateObject, validateStatus } from './validate-object.ts';

/**
 * Changes an object as `transform` wants it. Every attempt is computed from the newest state; a write that comes
 * between is met by a new attempt, which ends in 409 (412) if the client meant one revision. A change that is none is
 * not written. A deleting object that loses its last finalizer is deleted by this very write.
 */
export async function updateObject(
  context: ModelContext,
  request: UpdateRequest,
  write: WriteContext,
): Promise<StoredObject> {
  const once = warningOnce(write);
  try {
    return await retryOnConflict(context.queue, request.key, write.signal, () =>
      underPresentModel(context, (served) => updateOnce(served, request, once)),
    );
  } catch (error) {
    if (!isStorageError(error) || error.code === 'IdempotencyKeyUsed') throw error;
    throw statusFromStorage(error, subjectOf(context, request.key));
  }
}

async function updateOnce(context: ModelContext, request: UpdateRequest, write: WriteContext): Promise<StoredObject> {
  const { key } = request;
  const { store, resource } = context;
  const from = await store.get(resource, key, write.memory?.room);
  if (from === undefined) throw newNotFound(resource, key.name);
  const end = await write.memory?.parse(from.body.length);
  try {
    return await updateFrom(context, from, request, write);
  } finally {
    // Before another attempt has to wait for others, who may wait for what this one has.
    end?.();
  }
}

async function updateFrom(
  context: ModelContext,
  from: StoredObject,
  request: UpdateRequest,
  write: WriteContext,
): Promise<StoredObject> {
  const { key, subresource, preconditions } = request;
  const { store, resource, codec, strategy } = context;
  // What is read and made here is this attempt's own; `from` tells at the end whether it is still the present state.
  const turns = new EventLoopTurns({ signal: write.signal });
  if (turns.due) await turns.next();
  const old = codec.decode(from);
  if (turns.due) await turns.next();
  checkPreconditions(context, preconditions, old.metadata);
  const body = request.transform(cloneJson(old) as JsonApiObject);
  checkIdentity(context, body, key);
  if (turns.due) await turns.next();
  const sent = await readWrittenObject(context, body, write, old);
  const { resourceVersion, uid } = sent.metadata;
  checkPreconditions(context, present({ resourceVersion, uid }), old.metadata);

  const object = subresource === 'status' ? withNewStatus(sent, old) : withNewContent(context, sent, old);
  strategy.prepareForUpdate?.(object, old, subresource);
  if (turns.due) await turns.next();
  if (subresource === 'status') await validateStatus(context, object, write, old);
  else await validateObject(context, object, write, old);
  if (turns.due) await turns.next();
  refuse(context, object, newFinalizerCauses(object.metadata, old.metadata));
  if (contentChanged(context, object, old)) object.metadata.generation = (old.metadata.generation ?? 0) + 1;

  const stored = codec.toStored(object, (path) =>
    write.warn(`field "${path}" is not kept: the version that objects are stored in does not know it`),
  );
  if (turns.due) await turns.next();
  if (isSameObject(stored, codec.storedForm(from, old))) return unchanged(context, write, from);
  const type =
    stored.metadata.deletionTimestamp !== undefined && (stored.metadata.finalizers ?? []).length === 0
      ? 'delete'
      : 'update';
  if (turns.due) await turns.next();
  if (type === 'update') checkStoredSize(stored, from);
  if (turns.due) await turns.next();
  await checkPresent(context);
  const commit = (): Promise<StoredObject> =>
    store.write({ type, resource, object: stored, fingerprint: codec.fingerprint, from }, writeOptions(write));
  return (
    strategy.commit?.({ type, object: stored, from, dryRun: write.dryRun, signal: write.signal }, commit) ?? commit()
  );
}

/**
 * The wanted object on the main resource: system fields are the old ones, and so is status where it has its own path.
 */
function withNewContent({ version }: ModelContext, sent: JsonApiObject, old: JsonApiObject): JsonApiObject {
  const object = { ...sent, metadata: changedObjectMeta(sent.metadata, old.metadata) } as JsonApiObject;
  return version.subresources.status ? withStatusOf(object, old) : object;
}

/** The wanted object on `/status`: all but status is the old one. */
function withNewStatus(sent: JsonApiObject, old: JsonApiObject): JsonApiObject {
  return withStatusOf(
    { ...(cloneJson(old) as JsonApiObject), metadata: statusObjectMeta(sent.metadata, old.metadata) } as JsonApiObject,
    sent,
  );
}

function withStatusOf(target: JsonApiObject, source: JsonApiObject): JsonApiObject {
  const { status: _, ...object } = target;
  const { status } = source;
  return (status === undefined ? object : { ...object, status: cloneJson(status) }) as JsonApiObject;
}

function contentChanged({ version }: ModelContext, object: JsonApiObject, old: JsonApiObject): boolean {
  return !equalJson(content(object, version.subresources.status), content(old, version.subresources.status));
}

function content(object: JsonApiObject, statusApart: boolean): JsonObject {
  const { metadata: _, ...rest } = object;
  if (!statusApart) return rest;
  const { status: _status, ...spec } = rest;
  return spec;
}

function newFinalizerCauses(meta: ObjectMeta, old: ObjectMeta): ReturnType<typeof fieldError.forbidden>[] {
  if (old.deletionTimestamp === undefined) return [];
  const added = (meta.finalizers ?? []).filter((finalizer) => old.finalizers?.includes(finalizer) !== true);
  if (added.length === 0) return [];
  const shown = JSON.stringify(added).slice(0, 200);
  return [
    fieldError.forbidden(
      'metadata.finalizers',
      `no new finalizers can be added if the object is being deleted, found new finalizers ${shown}`,
    ),
  ];
}

function present({
  resourceVersion,
  uid,
}: {
  resourceVersion: string | undefined;
  uid: string | undefined;
}): Preconditions {
  return { ...(resourceVersion === undefined ? {} : { resourceVersion }), ...(uid === undefined ? {} : { uid }) };
}
