import type { Condition } from '#pkg/apimachinery/index';
import { setCondition } from '#pkg/apis/index';
import type { NamespaceRemains } from './empty-namespace.ts';

/** Maximum number of names of each kind in a message. */
const maxNamed = 10;

/**
 * The conditions of a namespace in deletion; omits a condition that never held. Source of types, reasons and messages:
 * k8s.io/kubernetes, pkg/controller/namespace/deletion.
 */
export function namespaceConditions(
  present: readonly Condition[],
  { resources, finalizers, failures }: NamespaceRemains,
  now: string,
): Condition[] {
  const told: Omit<Condition, 'lastTransitionTime'>[] = [
    failures.size > 0
      ? {
          type: 'NamespaceDeletionContentFailure',
          status: 'True',
          reason: 'ContentDeletionFailed',
          message: `Failed to delete all resource types, ${failures.size} remaining: ${named(failures, (resource, why) => `${resource}: ${why}`)}`,
        }
      : {
          type: 'NamespaceDeletionContentFailure',
          status: 'False',
          reason: 'ContentDeleted',
          message: 'All content successfully deleted, may be waiting on finalization',
        },
    resources.size > 0
      ? {
          type: 'NamespaceContentRemaining',
          status: 'True',
          reason: 'SomeResourcesRemain',
          message: `Some resources are remaining: ${named(resources, (resource, count) => `${resource} has ${count} resource instances`)}`,
        }
      : {
          type: 'NamespaceContentRemaining',
          status: 'False',
          reason: 'ContentRemoved',
          message: 'All content successfully removed',
        },
    finalizers.size > 0
      ? {
          type: 'NamespaceFinalizersRemaining',
          status: 'True',
          reason: 'SomeFinalizersRemain',
          message: `Some content in the namespace has finalizers remaining: ${named(finalizers, (finalizer, count) => `${finalizer} in ${count} resource instances`)}`,
        }
      : {
          type: 'NamespaceFinalizersRemaining',
          status: 'False',
          reason: 'ContentHasNoFinalizers',
          message: 'All content-preserving finalizers finished',
        },
  ];
  return told.reduce<Condition[]>((conditions, condition) => setCondition(conditions, condition, now), [...present]);
}

function named<Value>(map: ReadonlyMap<string, Value>, text: (name: string, value: Value) => string): string {
  const entries = [...map].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const texts = entries.slice(0, maxNamed).map(([name, value]) => text(name, value));
  return [...texts, ...(entries.length > maxNamed ? [`and ${entries.length - maxNamed} more`] : [])].join(', ');
}
