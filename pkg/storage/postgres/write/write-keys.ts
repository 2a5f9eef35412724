import type { ComputedKeys, StatusCause } from '#pkg/apimachinery/index';
import type { Change } from '../../change.ts';

/** What functions gave for one object. */
export interface Computed {
  keys: ComputedKeys;
  /** Why it cannot be stored; its keys are good all the same. */
  causes: StatusCause[];
  /** Did a function itself fail? */
  isFault: boolean;
}

/** Of one write to a table with computed columns. */
export interface WriteKeys extends Omit<Computed, 'isFault'> {
  body: string;
  /** As the log keeps them; null of a deletion. */
  text: string | null;
  /** Before it. */
  old: ComputedKeys;
  oldText: string | null;
}

/** The change with what functions computed for it: texts of ComputedKeys. */
export function withKeys(change: Change, keys: string | null, oldKeys: string | null): Change {
  const { old } = change;
  return {
    ...change,
    ...(keys === null ? {} : { keys }),
    ...(old === undefined || oldKeys === null ? {} : { old: { ...old, keys: oldKeys } }),
  };
}
