import type { ObjectEvent } from '../event/object-event.ts';
import { enqueueObject } from '../handler/event-handler.ts';
import { and } from '../predicate/predicate.ts';
import { formatRequest, requestOf } from '../reconcile/reconciler.ts';
import type { WatchDefinition } from '../definition/controller-definition.ts';
import type { ReconcileFailures } from './reconcile-failures.ts';

export interface RecordLostEventsOptions {
  watch: WatchDefinition;
  /** The position among its controller's watches; the first is the controller's own type. */
  position: number;
  controller: string;
  failures: ReconcileFailures;
}

/**
 * Wraps a watch: a predicate or handler that throws loses the event, and the watch counts as failed until an event of
 * the same object passes all of them, or its deletion does. An event that a predicate drops does not clear the failure:
 * the predicate that threw may not have run.
 */
export function recordLostEvents({ watch, position, controller, failures }: RecordLostEventsOptions): WatchDefinition {
  const { type, handler, predicates } = watch;
  const isWorth = and(...predicates);
  const requestIn = ({ object }: ObjectEvent): string => `${type.plural} ${formatRequest(requestOf(object))}`;
  const clear = (event: ObjectEvent): void => failures.clear(controller, requestIn(event), position);
  const noticing = <Result>(event: ObjectEvent, work: () => Result): Result => {
    try {
      return work();
    } catch (error) {
      failures.note({ controller, request: requestIn(event), watch: position, attempt: 1, error, isLasting: true });
      throw error;
    }
  };
  const isWorthNoticed = (event: ObjectEvent): boolean => {
    // If this event is dropped, the deleted object is not reconciled again.
    if (position === 0 && event.type === 'delete')
      failures.clearTerminal(controller, formatRequest(requestOf(event.object)));
    const passes = noticing(event, () => isWorth(event));
    if (passes ? handler === enqueueObject : event.type === 'delete') clear(event);
    return passes;
  };
  const handleNoticed = (event: ObjectEvent): ReturnType<typeof handler> => {
    const requests = noticing(event, () => Array.from(handler(event)));
    clear(event);
    return requests;
  };
  // A resumed watch recognizes by this handler that it enqueues the object itself; this handler does not throw.
  return { ...watch, predicates: [isWorthNoticed], handler: handler === enqueueObject ? handler : handleNoticed };
}
