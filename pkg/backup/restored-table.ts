import type { BackedUpSchema } from './backed-up-schema.ts';
import type { TableShape } from './table-shape.ts';

/** A table that holds its rows, and not yet its indexes. */
export interface RestoredTable {
  readonly schema: BackedUpSchema;
  readonly table: string;
  readonly columns: readonly string[];
  /** Of runtime tables. */
  readonly shape: TableShape | undefined;
}
