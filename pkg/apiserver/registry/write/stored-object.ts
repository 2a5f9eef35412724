import {
  newConflict,
  newNotFound,
  newPreconditionFailed,
  type ObjectKey,
  type ObjectMeta,
} from '#pkg/apimachinery/index';
import { storedLength } from '#pkg/storage/index';
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
  const from = await store.get(resource, key, write.memory?.readBudget);
  if (from === undefined) throw newNotFound(resource, key.name);
  write.from = from;
  write.endParsing = await write.memory?.parse(storedLength(from));
}

/**
 * Decodes the stored object. StatusError 404, 409 or 412 where the request means another object or another state of it.
 */
export function decodeStoredObject(write: ObjectWrite): void {
  const { request, model, from } = write;
  if (request.verb === 'create' || from === undefined) return;
  const { codec, resource } = model;
  const old = request.verb === 'delete' ? codec.decodeFinal(from) : codec.decode(from);
  write.old = old;
  if (request.verb === 'delete') {
    write.object = codec.toStored(old);
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
