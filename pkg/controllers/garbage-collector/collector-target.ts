import type { ObjectKey } from '#pkg/apimachinery/index';
import type { ReconcileRequest } from '#pkg/runtime/index';

/** What the collector must check, as a request of its queue. */
export type CollectorTarget =
  | { look: 'object'; resource: string; key: ObjectKey }
  /** Every object of a resource that has owners or waits for the collector. */
  | { look: 'sweep'; resource: string }
  /** The dependents of owners that were deleted since. */
  | { look: 'gone' };

/** Joins resource and namespace with a space, which neither can contain. */
export function formatTarget(target: CollectorTarget): ReconcileRequest {
  if (target.look === 'object')
    return { namespace: `${target.resource} ${target.key.namespace}`, name: target.key.name };
  return { namespace: target.look, name: target.look === 'sweep' ? target.resource : '' };
}

export function parseTarget({ namespace, name }: ReconcileRequest): CollectorTarget {
  const blank = namespace.indexOf(' ');
  if (blank >= 0)
    return {
      look: 'object',
      resource: namespace.slice(0, blank),
      key: { namespace: namespace.slice(blank + 1), name },
    };
  return namespace === 'sweep' ? { look: 'sweep', resource: name } : { look: 'gone' };
}
