import { EventLoopTurns, isStatusError, type ApiObject, type GroupResource } from '#pkg/apimachinery/index';
import type { Store } from '#pkg/storage/index';
import type { DefinitionConditionFacts } from './definition-conditions.ts';

/** Objects whose finalizers are read: the condition is rewritten often while objects are deleted. */
const maxRead = 500;
/** Finalizers that a message names. */
const maxNamed = 10;

type Read = Pick<Store, 'chunk'>;

/**
 * The condition Terminating for the remaining objects of a definition; undefined if none remain.
 * Source of the reasons: k8s.io/apiextensions-apiserver, pkg/controller/finalizer.
 */
export async function remainingInstances(
  store: Read,
  resource: GroupResource,
  signal: AbortSignal,
): Promise<DefinitionConditionFacts | undefined> {
  const { items, remaining = 0 } = await store.chunk(resource, {
    selector: { labels: [], fields: [] },
    sort: [],
    limit: maxRead,
    signal,
  });
  if (items.length === 0) return undefined;
  const finalizers = new Map<string, number>();
  const turns = new EventLoopTurns({ signal });
  for (const { body } of items) {
    if (turns.due) await turns.next();
    const { metadata } = JSON.parse(body) as ApiObject;
    for (const finalizer of metadata.finalizers ?? []) finalizers.set(finalizer, (finalizers.get(finalizer) ?? 0) + 1);
  }
  const total = items.length + remaining;
  return inProgress(
    `${objects(total)} left${heldBy(finalizers, remaining > 0 ? ` of the first ${items.length}` : '')}`,
  );
}

/** The condition after a failed deletion of objects, which is retried. */
export function deletionFailed(error: unknown): DefinitionConditionFacts {
  const why = isStatusError(error) ? error.message : "see the server's log";
  return {
    type: 'Terminating',
    status: 'True',
    reason: 'InstanceDeletionFailed',
    message: `could not delete all objects: ${why}`,
  };
}

export const deletionCompleted: DefinitionConditionFacts = {
  type: 'Terminating',
  status: 'False',
  reason: 'InstanceDeletionCompleted',
  message: 'all objects are deleted',
};

function inProgress(message: string): DefinitionConditionFacts {
  return { type: 'Terminating', status: 'True', reason: 'InstanceDeletionInProgress', message };
}

function heldBy(finalizers: ReadonlyMap<string, number>, extent: string): string {
  if (finalizers.size === 0) return '';
  const sorted = [...finalizers].toSorted(([a, left], [b, right]) => right - left || (a < b ? -1 : 1));
  const named = sorted.slice(0, maxNamed).map(([finalizer, count]) => `${finalizer} in ${objects(count)}`);
  const more = sorted.length > maxNamed ? [`${sorted.length - maxNamed} more`] : [];
  return `; finalizers${extent}: ${[...named, ...more].join(', ')}`;
}

function objects(count: number): string {
  return count === 1 ? '1 object' : `${count} objects`;
}
