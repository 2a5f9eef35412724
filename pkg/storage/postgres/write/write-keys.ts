import type { ComputedKeys, StatusCause } from '#pkg/apimachinery/index';
import type { Change } from '../../change.ts';

/** The results of the key functions for one object. */
export interface KeyComputation {
  keys: ComputedKeys;
  /** Why the object cannot be stored; its keys are valid all the same. */
  causes: StatusCause[];
  /** Did a function itself fail? */
  isFault: boolean;
}

/** The computed keys of one write to a table with computed columns. */
export interface WriteKeys extends Omit<KeyComputation, 'isFault'> {
  body: string;
  /** The keys as text for the log; null for a deletion. */
  text: string | null;
  /** The keys before the write. */
  old: ComputedKeys;
  oldText: string | null;
}

/** Adds the computed keys to a change: texts of ComputedKeys. */
export function withKeys(change: Change, keys: string | null, oldKeys: string | null): Change {
  const { old } = change;
  return {
    ...change,
    ...(keys === null ? {} : { keys }),
    ...(old === undefined || oldKeys === null ? {} : { old: { ...old, keys: oldKeys } }),
  };
}
