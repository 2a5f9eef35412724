import { newConflict, newPreconditionFailed, type ObjectMeta } from '#pkg/apimachinery/index';
import type { ModelContext } from '../model/model-context.ts';
import type { Preconditions } from '../../rest/served-resource.ts';
import { objectModified } from '../model/status-from-storage.ts';

/**
 * StatusError 409, or 412 for `ifMatch`, if the stored object is not what the client means. `current` carries its
 * resourceVersion.
 */
export function checkPreconditions(
  { resource }: ModelContext,
  { resourceVersion, uid, ifMatch }: Preconditions,
  current: ObjectMeta,
): void {
  const { name } = current;
  if (ifMatch !== undefined && ifMatch !== '*' && ifMatch !== current.resourceVersion) {
    throw newPreconditionFailed(resource, name, objectModified);
  }
  if (uid !== undefined && uid !== '' && uid !== current.uid) {
    const reason = `the UID in the precondition (${uid.slice(0, 63)}) does not match the UID in record (${current.uid ?? ''}). The object might have been deleted and then recreated`;
    throw newConflict(resource, name, reason);
  }
  if (resourceVersion !== undefined && resourceVersion !== '' && resourceVersion !== current.resourceVersion) {
    throw newConflict(resource, name, objectModified);
  }
}
