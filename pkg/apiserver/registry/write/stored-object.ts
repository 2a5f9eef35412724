import {
  newConflict,
  newNotFound,
  newPreconditionFailed,
  type ObjectKey,
  type ObjectMeta,
} from '#pkg/apimachinery/index';
import { decodeBody, storedLength } from '#pkg/storage/index';
import type { Preconditions } from '../../rest/served-resource.ts';
import type { ModelContext } from '../model/model-context.ts';
import { objectModified } from '../model/status-from-storage.ts';
import type { ObjectWrite } from './object-write.ts';

/** Reads the current state of the object to change or delete. StatusError 404. */
export function readStoredObject(write: ObjectWrite): void | Promise<void> {
  if (write.request.verb !== 'create') return read(write, write.request.key);
}

async function read(write: ObjectWrite, key: ObjectKey): Promise<void> {
  const { store, resource } = write.model;
  const recent = write.mayBeOutdated ? await store.findRecent(resource, key) : undefined;
  write.mayBeOutdated = recent !== undefined;
  const from = recent ?? (await store.get(resource, key, write.memory?.readBudget));
  if (from === undefined) throw newNotFound(resource, key.name);
  write.from = from;
  write.endParsing = await write.memory?.parse(storedLength(from));
  write.shownFrom = undefined;
  const { converter } = write.model;
  if (converter !== undefined && write.request.verb !== 'delete')
    [write.shownFrom] = await converter.toVersion([from], write.context.signal);
}

/**
 * Decodes the stored object. StatusError 404, 409 or 412 where the request means another object or another state of it.
 */
export function decodeStoredObject(write: ObjectWrite): void {
  const { request, model, from } = write;
  if (request.verb === 'create' || from === undefined) return;
  const { codec, converter, resource } = model;
  const isDeletion = request.verb === 'delete';
  const old =
    isDeletion && converter !== undefined
      ? decodeBody(from.body, from.revision, from.managed)
      : isDeletion
        ? codec.decodeFinal(from)
        : codec.decode(write.shownFrom ?? from);
  write.old = old;
  if (isDeletion) {
    // Keeps the stored form: an object must stay deletable while the webhook is away.
    write.object = converter === undefined ? codec.toStored(old) : old;
    if (request.isStillSelected?.(write.object, from) === false) throw newNotFound(resource, request.key.name);
  }
  checkPreconditions(model, request.preconditions, old.metadata);
}

/**
 * StatusError 409, or 412 for `ifMatch`, if the stored object does not meet the client's preconditions. `current`
 * carries its resourceVersion. The store compares the revision again when it writes; after a conflict the steps check
 * the newest state.
 */
export function checkPreconditions(
  { resource }: ModelContext,
  { resourceVersion, uid, ifMatch }: { [K in keyof Preconditions]?: Preconditions[K] | undefined },
  current: ObjectMeta,
): void {
  const { name } = current;
  if (ifMatch?.every((version) => version !== current.resourceVersion) === true) {
    const reason = ifMatch.length === 1 ? objectModified : 'the object has none of the versions in If-Match';
    throw newPreconditionFailed(resource, name, reason);
  }
  if (uid !== undefined && uid !== '' && uid !== current.uid) {
    const reason = `the UID in the precondition (${uid.slice(0, 63)}) does not match the UID in record (${current.uid ?? ''}). The object might have been deleted and then recreated`;
    throw newConflict(resource, name, reason);
  }
  if (resourceVersion !== undefined && resourceVersion !== '' && resourceVersion !== current.resourceVersion) {
    throw newConflict(resource, name, objectModified);
  }
}
