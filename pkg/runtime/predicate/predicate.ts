import type { AnyObject } from '#pkg/apimachinery/index';
import type { ObjectEvent } from '../event/object-event.ts';

/** Whether the event matters. Source: controller-runtime, `pkg/predicate`. */
export type Predicate<T extends AnyObject = AnyObject> = (event: ObjectEvent<T>) => boolean;

export function and<T extends AnyObject>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  return (event) => predicates.every((predicate) => predicate(event));
}

export function or<T extends AnyObject>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  return (event) => predicates.some((predicate) => predicate(event));
}

export function not<T extends AnyObject>(predicate: Predicate<T>): Predicate<T> {
  return (event) => !predicate(event);
}

/**
 * Drops updates that neither change the generation nor start a deletion: changes of the status (if it is a subresource)
 * and of other metadata.
 */
export const generationChanged: Predicate = updated(({ metadata }) => metadata.generation);

/** Drops updates without a change, which a new list repeats. */
export const resourceVersionChanged: Predicate = updated(({ metadata }) => metadata.resourceVersion);

export const labelsChanged: Predicate = updated(({ metadata }) => flat(metadata.labels));

export const annotationsChanged: Predicate = updated(({ metadata }) => flat(metadata.annotations));

/** Drops updates that do not start a deletion: for controllers that use a finalizer. */
export const deletionRequested: Predicate = updated(({ metadata }) => metadata.deletionTimestamp !== undefined);

function updated(aspect: (object: AnyObject) => unknown): Predicate {
  return (event) => event.type !== 'update' || aspect(event.old) !== aspect(event.object);
}

function flat(map: Readonly<Record<string, string>> = {}): string {
  return JSON.stringify(Object.entries(map).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
