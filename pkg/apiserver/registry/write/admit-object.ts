import type { ObjectWrite } from './object-write.ts';
import { checkPreconditions } from './stored-object.ts';

/**
 * Checks that the write is allowed now. StatusError 403 for a create where the namespace or the definition is being
 * deleted; 409 for an update whose body names another revision or uid.
 */
export function admitObject(write: ObjectWrite): void | Promise<void> {
  const { request, model, object, old } = write;
  if (request.verb === 'create') {
    const { namespace } = request;
    // The client may have omitted the name.
    const { name }: { name?: string } = object.metadata;
    write.key = { namespace, name: name ?? '' };
    if (model.findCreateRefusal(write.key) !== undefined) return checkCreateAllowedNow(write);
  } else if (request.verb === 'update') {
    const { resourceVersion, uid } = object.metadata;
    checkPreconditions(model, { resourceVersion, uid }, old!.metadata);
  }
}

/**
 * A namespace that was being deleted may be gone or recreated. If the newest changes cannot be read, the refusal stays.
 */
async function checkCreateAllowedNow(write: ObjectWrite): Promise<void> {
  await write.model.store.changes.catchUp().catch(() => undefined);
  checkCreateAllowed(write);
}

/** Uses this replica's current knowledge. StatusError 403. */
export function checkCreateAllowed({ model, key }: ObjectWrite): void {
  const refusal = model.findCreateRefusal(key);
  if (refusal !== undefined) throw refusal;
}
