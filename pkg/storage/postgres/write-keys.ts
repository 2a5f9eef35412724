import type { ComputedKeys, StatusCause } from '#pkg/apimachinery/index';

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
