import {
  isJsonObject,
  maxLabels,
  namespaceFinalizer,
  newForbidden,
  type JsonObject,
  type ObjectMeta,
} from '#pkg/apimachinery/index';
import { defaultNamespace, kubernetesNamespaces, namespaceNameLabel, systemNamespace } from '#pkg/apis/index';
import type { JsonApiObject, Strategy } from '../../rest/strategy.ts';

/** Created at the first start, and never deleted. */
export const protectedNamespaces: readonly string[] = [defaultNamespace, systemNamespace, ...kubernetesNamespaces];

/**
 * The strategy of namespaces: only the server sets their phase and the label with their name. The store refuses to delete
 * a namespace that contains objects; a controller empties it first.
 */
export const namespaceStrategy: Strategy = {
  contentFinalizer: namespaceFinalizer,
  prepareForCreate(object) {
    object.status = { phase: 'Active' };
    setNameLabel(object);
  },
  prepareForUpdate(object, old, subresource) {
    if (subresource === 'status') object.status = { ...statusOf(object), phase: statusOf(old)['phase'] ?? 'Active' };
    // An object of an earlier version, with as many labels as there may be: it must not be bound to stay as it is.
    else if (hasNameLabel(old.metadata) || hasRoomForNameLabel(object.metadata)) setNameLabel(object);
  },
  async validate({ metadata }) {
    if (countLabels(metadata) <= maxLabels) return [];
    const message = `must have at most ${maxLabels - 1} items besides ${namespaceNameLabel}, which the server sets`;
    return [{ reason: 'FieldValueTooMany', field: 'metadata.labels', message }];
  },
  prepareForDelete(object) {
    const { name } = object.metadata;
    if (protectedNamespaces.includes(name))
      throw newForbidden({ group: '', resource: 'namespaces' }, name, 'this namespace may not be deleted');
    object.status = { ...statusOf(object), phase: 'Terminating' };
  },
};

function statusOf({ status }: JsonApiObject): JsonObject {
  return isJsonObject(status) ? status : {};
}

/** Whatever the client sent: Kubernetes sets it as a default of every read and write. */
function setNameLabel({ metadata }: JsonApiObject): void {
  if (!hasNameLabel(metadata)) metadata.labels = { ...metadata.labels, [namespaceNameLabel]: metadata.name };
}

/** A namespace that was stored without the label may have as many others as an object may have. */
export function hasRoomForNameLabel(metadata: ObjectMeta): boolean {
  return countLabels(metadata) < maxLabels;
}

function countLabels({ labels }: ObjectMeta): number {
  return Object.keys(labels ?? {}).length;
}

export function hasNameLabel({ name, labels }: ObjectMeta): boolean {
  return labels?.[namespaceNameLabel] === name;
}
