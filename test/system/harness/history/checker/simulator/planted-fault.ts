import type { Rule } from '../examination/violation.ts';
import type { EditableHistory } from './editable-history.ts';

/** A fault that is planted in a valid history; the rule must detect it. */
export interface PlantedFault {
  name: string;
  rule: Rule;
  /** False if this history has no place for it. */
  plant(this: void, history: EditableHistory): boolean;
}
