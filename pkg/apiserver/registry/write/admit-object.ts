import { newForbidden } from '#pkg/apimachinery/index';
import type { ObjectWrite } from './object-write.ts';
import { checkPreconditions } from './stored-object.ts';

/**
 * May this write be made now? StatusError 403 for a create in a namespace that is being deleted; 409 for an update of
 * another revision or uid than its body names.
 */
export function admitObject(write: ObjectWrite): void | Promise<void> {
  const { request, model, object, old } = write;
  if (request.verb === 'create') {
    const { namespace } = request;
    // A client may have left it out.
    const { name }: { name?: string } = object.metadata;
    write.key = { namespace, name: name ?? '' };
    if (model.createRefusal(namespace) !== undefined) return checkCreateAllowedNow(write);
  } else if (request.verb === 'update') {
    const { resourceVersion, uid } = object.metadata;
    checkPreconditions(model, { resourceVersion, uid }, old!.metadata);
  }
}

/** A namespace that was being deleted may be gone by now, or there again. What cannot be asked stays refused. */
async function checkCreateAllowedNow(write: ObjectWrite): Promise<void> {
  await write.model.store.changes.catchUp().catch(() => undefined);
  checkCreateAllowed(write);
}

/** By what this replica knows. StatusError 403. */
export function checkCreateAllowed({
  model: { createRefusal, resource },
  key: { namespace, name },
}: ObjectWrite): void {
  const refusal = createRefusal(namespace);
  if (refusal !== undefined) throw newForbidden(resource, name, refusal.detail, refusal.causes);
}
