import type { ClientBase } from 'pg';
import type { Migration } from '#pkg/database/index';

/** Numbers of a schema that no table of the backup holds, by name. */
export type SchemaState = Readonly<Record<string, number>>;

/** One schema as a backup takes it: what its migrations make is made by them again, and rows are copied. */
export interface BackedUpSchema {
  readonly name: string;
  readonly migrations: readonly Migration[];
  /**
   * What is there afterwards, by migration: one that makes or changes none of this is left out. A backup of anything
   * else is refused.
   */
  readonly contents: Readonly<Record<string, MigratedContents>>;
  /** Tables whose rows stay out. Those of unlogged tables always do, as a crash of the database would lose them too. */
  readonly leftOut: readonly string[];
  /** Where a table's rows are not taken as they are: a SELECT of all its columns, in the order of the table's. */
  readonly selections: Readonly<Record<string, string>>;
  readonly runtimeTables?: RuntimeTables;
  /** The highest that a backup may say of each number of `readState`, room for what `adopt` adds left. */
  readonly stateLimits?: SchemaState;
  /** Within the backup's snapshot. */
  readState?(client: ClientBase): Promise<SchemaState>;
  /**
   * Completes what was restored, at the end of the transaction. `replaced` is the state of the schema that was emptied
   * for it, and `tables` are the runtime tables, columns by name. Throws BackupError where the rows, which are
   * anybody's work, are not what this program would have written.
   */
  adopt?(
    client: ClientBase,
    restored: { state: SchemaState; replaced: SchemaState | undefined; tables: ReadonlyMap<string, readonly string[]> },
  ): Promise<void>;
}

/** Of tables whose rows a backup takes, and of all sequences. */
export interface MigratedContents {
  /** All columns, but generated ones, of each table that is made or changed. */
  readonly tables?: Readonly<Record<string, readonly string[]>>;
  /** Those that are made. */
  readonly sequences?: readonly string[];
}

/**
 * Tables that are made while the program runs. A backup describes them, and a restore makes them by that description.
 */
export interface RuntimeTables {
  /** A SELECT of their names, as `name`. */
  readonly select: string;
  /** Of the whole name. */
  readonly pattern: RegExp;
  /** Statements that make their triggers, by the name of the trigger. */
  readonly triggers: Readonly<Record<string, (table: string) => string>>;
}
