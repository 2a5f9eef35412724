import type { History, Instant } from '../../history.ts';
import { lastWhere } from './replayed-log.ts';

/** Whether the model may have been missing, or about to be dropped, at some moment between the two. */
export function isGone(
  { modelChanges }: Pick<History, 'modelChanges'>,
  model: string,
  { invoked, completed }: { invoked: Instant; completed: Instant },
): boolean {
  return modelChanges.some((drop) => {
    if (drop.type !== 'drop' || drop.model !== model || drop.requested > completed) return false;
    const makes = modelChanges.filter(
      (make) => make.type === 'make' && make.model === model && make.requested >= drop.requested,
    );
    const back = makes.reduce((first, { completed: at = Infinity }) => Math.min(first, at), Infinity);
    return back >= invoked;
  });
}

/**
 * Up to which revision history may have been compacted by then. The first sample that ended later may have started
 * earlier, so the next one counts.
 */
export function compactedBy({ compactions }: Pick<History, 'compactions'>, at: Instant): number {
  const later = lastWhere(compactions.length, (index) => compactions[index]!.at < at) + 1;
  return (compactions[later + 1] ?? compactions.at(-1))?.compacted ?? 0;
}
