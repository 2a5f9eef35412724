import type { Kysely } from 'kysely';
import { DatabaseError } from '../database-error.ts';

/** One step of a schema, run once and never changed afterwards. */
export interface Migration {
  /** `0001_objects`: four digits, then words; the order of names is the order of steps. */
  readonly name: string;
  /**
   * The newest step that an older program must know to work on a database where this step was run. Such a program
   * starts and runs no step: a replica of the previous version may restart during a rollout, or after a rollback. For a
   * step that only adds, this is the step before it. Without it, only a program that knows this step may start.
   */
  readonly beside?: string;
  /**
   * Runs inside a transaction whose search path is the schema: builders and raw SQL without a schema use it. Functions
   * and triggers do not keep the path; write the schema in their bodies.
   */
  up(db: Kysely<unknown>): Promise<void>;
}

export interface MigrateOptions {
  /** The name of the last step to run; all by default. */
  readonly through?: string | undefined;
}

/** The steps of a schema that are to be run. */
export interface MigrationSteps {
  readonly schema: string;
  /** All steps that this program knows. */
  readonly known: readonly Migration[];
  /** How many of them to run. */
  readonly wanted: number;
}

/** Throws DatabaseError for names out of order, and for an unknown `through`. */
export function stepsOf(schema: string, known: readonly Migration[], { through }: MigrateOptions): MigrationSteps {
  checkNames(schema, known);
  const last = through === undefined ? known.length - 1 : known.findIndex(({ name }) => name === through);
  if (through !== undefined && last === -1)
    throw new DatabaseError(`Schema ${schema} has no migration ${through} in this version of the program.`);
  return { schema, known, wanted: last + 1 };
}

/** A step that was run by this version or another. */
export interface AppliedStep {
  readonly name: string;
  readonly beside: string | null;
}

/** The steps still to run, in order. Throws DatabaseError if this program cannot work with the applied steps. */
export function pendingSteps(
  { schema, known, wanted }: MigrationSteps,
  applied: readonly AppliedStep[],
): readonly Migration[] {
  const names = new Set(known.map(({ name }) => name));
  const newer = applied.filter(({ name }) => !names.has(name));
  const barring = newer.find(({ beside }) => beside === null || !names.has(beside));
  if (barring !== undefined) {
    throw new DatabaseError(
      `Schema ${schema} was migrated by a newer version of this program (${barring.name} is not known here); run that version.`,
    );
  }
  const own = applied.filter(({ name }) => names.has(name));
  if (own.some(({ name }, index) => name !== known[index]?.name) || (newer.length > 0 && own.length < known.length)) {
    throw new DatabaseError(
      `Schema ${schema} lacks a migration that comes before ${applied.at(-1)?.name}; it was migrated by a different branch of this program.`,
    );
  }
  return known.slice(own.length, wanted);
}

function checkNames(schema: string, migrations: readonly Migration[]): void {
  if (!/^[a-z][a-z0-9_]{0,62}$/.test(schema)) throw new DatabaseError(`${schema} is not the name of a schema.`);
  for (const [index, { name, beside }] of migrations.entries()) {
    const previous = migrations[index - 1]?.name ?? '';
    if (!/^\d{4}_[a-z0-9_]+$/.test(name) || name.slice(0, 4) <= previous.slice(0, 4)) {
      throw new DatabaseError(`Migration ${name} of schema ${schema} is misnamed or out of order.`);
    }
    if (beside !== undefined && !migrations.slice(0, index).some((earlier) => earlier.name === beside)) {
      throw new DatabaseError(
        `Migration ${name} of schema ${schema} works beside ${beside}, which does not come before it.`,
      );
    }
  }
}
