import type { Rule } from '../violation.ts';
import type { EditableHistory } from './editable-history.ts';

/** A lie, or a deed, that a valid history is given; the rule is to catch it. */
export interface PlantedFault {
  name: string;
  rule: Rule;
  /** False if this history has no place for it. */
  plant(this: void, history: EditableHistory): boolean;
}
