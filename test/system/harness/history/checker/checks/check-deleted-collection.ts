import type { DeleteCollectionOperation } from '../../history.ts';
import { within } from './check-refusals.ts';
import type { Window } from '../log/commit-times.ts';
import type { Examination } from '../examination/examination.ts';
import type { LiveState } from '../log/live-state.ts';
import { matcherOf } from '../log/object-match.ts';

/** Every object that existed and matched from the request to the response must be deleted. */
export function checkDeletedCollection(
  run: Examination,
  operation: DeleteCollectionOperation,
  { window, state }: { window: Window; state: LiveState },
): void {
  const { violations, narrator, statistics } = run;
  const matches = matcherOf(operation.selector);
  for (const change of state.matching(operation.model, operation.namespace, operation.selector)) {
    statistics.add('objects of a deleted collection');
    const isLeft = within(change.key, window).every(
      (each) => each !== undefined && each.row.type !== 'D' && each.row.new !== null && matches(each.row, each.row.new),
    );
    if (!isLeft) continue;
    violations.report('delete-collection', () => ({
      text: `${narrator.operation(operation)} left ${narrator.change(change)}, which matched all the time`,
      records: [operation, change.row],
    }));
  }
}
