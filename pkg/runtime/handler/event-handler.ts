import { apiGroupOf, type AnyObject, type ResourceType } from '#pkg/apimachinery/index';
import type { ObjectEvent } from '../event/object-event.ts';
import { requestOf, type ReconcileRequest } from '../reconcile/reconciler.ts';

/** Converts an event to requests. Source: controller-runtime, `pkg/handler`. */
export type EventHandler<T extends AnyObject = AnyObject> = (event: ObjectEvent<T>) => Iterable<ReconcileRequest>;

/** Enqueues the object itself. */
export const enqueueObject: EventHandler = ({ object }) => [requestOf(object)];

export interface OwnerOptions {
  /** Only the owner with `controller: true`. Default true. */
  onlyController?: boolean;
}

/** Enqueues the object's owners of this type; for an update, the former ones too. */
export function enqueueOwner(owner: ResourceType, { onlyController = true }: OwnerOptions = {}): EventHandler {
  const ownersOf = ({ metadata }: AnyObject): ReconcileRequest[] =>
    (metadata.ownerReferences ?? [])
      .filter(
        ({ apiVersion, kind, controller }) =>
          kind === owner.kind && apiGroupOf(apiVersion) === owner.group && (!onlyController || controller === true),
      )
      .map(({ name }) => ({ namespace: owner.namespaced ? (metadata.namespace ?? '') : '', name }));
  return (event) =>
    event.type === 'update' ? [...ownersOf(event.old), ...ownersOf(event.object)] : ownersOf(event.object);
}

/** Enqueues the requests that `map` returns; for an update, those of the previous object too. */
export function enqueueMapped<T extends AnyObject>(map: (object: T) => Iterable<ReconcileRequest>): EventHandler<T> {
  return (event) => (event.type === 'update' ? [...map(event.old), ...map(event.object)] : map(event.object));
}
