import type { BackedUpSchema } from './backed-up-schema.ts';
import { BackupError } from './backup-error.ts';

/** The tables and sequences of a schema. */
export interface Contents {
  /** Columns by table. */
  readonly tables: ReadonlyMap<string, readonly string[]>;
  readonly sequences: readonly string[];
}

/** Throws BackupError if a schema is not what these migrations create: a restore could not insert the rows. */
export function checkContents(schema: BackedUpSchema, applied: readonly string[], found: Contents): void {
  const made = contentsMadeBy(schema, applied);
  const [foreign, missing] = [missingFrom(found, made), missingFrom(made, found)];
  if (foreign.length > 0)
    throw new BackupError(
      `Schema ${schema.name} contains objects that svc did not create, and a backup with them could not be restored: ${foreign.join(', ')}; move them to another schema, or drop them.`,
    );
  if (missing.length > 0)
    throw new BackupError(
      `Schema ${schema.name} lacks objects that svc created, and a backup without them could not be restored: ${missing.join(', ')}; create them again (an UNLOGGED table counts as missing).`,
    );
}

/** What these migrations create. */
export function contentsMadeBy({ contents }: BackedUpSchema, applied: readonly string[]): Contents {
  const made = applied.map((migration) => contents[migration] ?? {});
  return {
    tables: new Map(made.flatMap(({ tables = {} }) => Object.entries(tables))),
    sequences: made.flatMap(({ sequences = [] }) => sequences),
  };
}

/** What one has and the other lacks, as text for an operator. */
function missingFrom(one: Contents, other: Contents): string[] {
  const tables = [...one.tables].flatMap(([table, columns]) => {
    const known = other.tables.get(table);
    return known === undefined
      ? [`table ${table}`]
      : columns.filter((column) => !known.includes(column)).map((column) => `column ${table}.${column}`);
  });
  return [
    ...tables,
    ...one.sequences.filter((name) => !other.sequences.includes(name)).map((name) => `sequence ${name}`),
  ];
}
