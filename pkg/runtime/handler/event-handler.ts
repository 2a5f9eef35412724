import { apiGroupOf, type AnyObject, type ResourceType } from '#pkg/apimachinery/index';
import type { ObjectEvent } from '../event/object-event.ts';
import { requestOf, type ReconcileRequest } from '../reconcile/reconciler.ts';

/** Turns an event into what is to be looked at. Source: controller-runtime, `pkg/handler`. */
export type EventHandler<T extends AnyObject = AnyObject> = (event: ObjectEvent<T>) => Iterable<ReconcileRequest>;

/** Looks at the object itself. */
export const enqueueObject: EventHandler = ({ object }) => [requestOf(object)];

export interface OwnerOptions {
  /** Only the owner that is marked as the controller. Default true. */
  onlyController?: boolean;
}

/** Looks at the object's owners of this type; of an update, at the former ones too. */
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

/** Looks at whatever `map` answers; of an update, for the object as it was too. */
export function enqueueMapped<T extends AnyObject>(map: (object: T) => Iterable<ReconcileRequest>): EventHandler<T> {
  return (event) => (event.type === 'update' ? [...map(event.old), ...map(event.object)] : map(event.object));
}
