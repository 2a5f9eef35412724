import type { ClientBase } from 'pg';
import type { Migration } from '#pkg/database/index';

/** Numbers of a schema that no table of the backup contains, by name. */
export type SchemaState = Readonly<Record<string, number>>;

/** One schema of a backup: migrations recreate what they have created, and rows are copied. */
export interface BackedUpSchema {
  readonly name: string;
  readonly migrations: readonly Migration[];
  /**
   * What each migration creates or changes; one without such an effect is omitted. A backup of anything else is
   * refused.
   */
  readonly contents: Readonly<Record<string, MigratedContents>>;
  /**
   * Tables whose rows are not backed up. Rows of unlogged tables never are: a crash of the database would lose them
   * too.
   */
  readonly excludedTables: readonly string[];
  /** For a table whose rows are not copied as they are: a SELECT of all its columns, in the table's order. */
  readonly selections: Readonly<Record<string, string>>;
  readonly runtimeTables?: RuntimeTables;
  /** The highest value that a backup may have for each number of `readState`, with room for what `adopt` adds. */
  readonly stateLimits?: SchemaState;
  /** Called within the backup's snapshot. */
  readState?(client: ClientBase): Promise<SchemaState>;
  /**
   * Completes the restore at the end of the transaction. `replaced` is the state of the schema that was dropped before,
   * and `tables` has the columns of the runtime tables by name. Throws BackupError if the rows, which may be forged,
   * are not what this program would have written.
   */
  adopt?(
    client: ClientBase,
    restored: { state: SchemaState; replaced: SchemaState | undefined; tables: ReadonlyMap<string, readonly string[]> },
  ): Promise<void>;
}

/** Contents of tables whose rows are backed up, and of all sequences. */
export interface MigratedContents {
  /** All columns, except generated ones, of each table that it creates or changes. */
  readonly tables?: Readonly<Record<string, readonly string[]>>;
  /** The sequences that it creates. */
  readonly sequences?: readonly string[];
}

/**
 * Tables that the program creates while it runs. A backup contains their definition, from which a restore creates them.
 */
export interface RuntimeTables {
  /** A SELECT of their names, as `name`. */
  readonly select: string;
  /** Matches the whole name. */
  readonly pattern: RegExp;
  /** Statements that create their triggers, by trigger name. */
  readonly triggers: Readonly<Record<string, (table: string) => string>>;
}
