import type { FieldSet } from '../fieldpath/field-set.ts';
import type { ManagerState } from './managers.ts';

/** The fields of one manager that a configuration would change. */
export interface ManagerConflict {
  manager: ManagerState;
  set: FieldSet;
}

/** Fields that others own keep a configuration from being applied. */
export class ManagerConflicts extends Error {
  readonly conflicts: readonly ManagerConflict[];

  constructor(conflicts: readonly ManagerConflict[]) {
    super('conflicts with other managers');
    this.name = 'ManagerConflicts';
    this.conflicts = conflicts;
  }
}
