import { isJsonObject, newForbidden, type JsonObject } from '#pkg/apimachinery/index';
import type { JsonApiObject, Strategy } from './strategy.ts';

export const defaultNamespace = 'default';

/** Namespaces: their phase is the server's, `default` stays. That one with objects in it cannot go is the store's to see. */
export const namespaceStrategy: Strategy = {
  prepareForCreate(object) {
    object.status = { phase: 'Active' };
  },
  prepareForUpdate(object, old, subresource) {
    if (subresource === 'status') object.status = { ...statusOf(object), phase: statusOf(old)['phase'] ?? 'Active' };
  },
  prepareForDelete(object) {
    if (object.metadata.name === defaultNamespace) throw newForbidden({ group: '', resource: 'namespaces' }, defaultNamespace, 'this namespace may not be deleted');
    object.status = { ...statusOf(object), phase: 'Terminating' };
  },
};

function statusOf({ status }: JsonApiObject): JsonObject {
  return isJsonObject(status) ? status : {};
}
