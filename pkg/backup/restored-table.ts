import type { BackedUpSchema } from './backed-up-schema.ts';
import type { TableShape } from './table-shape.ts';

/** A table that has its rows but not its indexes yet. */
export interface RestoredTable {
  readonly schema: BackedUpSchema;
  readonly table: string;
  readonly columns: readonly string[];
  /** Set for runtime tables only. */
  readonly shape: TableShape | undefined;
}
