import { BackupError } from './backup-error.ts';
import type { BackedUpSchema, SchemaState } from './backed-up-schema.ts';

export const formatVersion = 1;

/** The first line of a backup. */
export interface ArchiveHeader {
  /** The version of the format; its presence distinguishes a backup from other files. */
  readonly svcBackup: number;
  /** The version of the product. */
  readonly version: string;
  readonly created: string;
  readonly schemas: Readonly<Record<string, SchemaHeader>>;
  /** Number of tables that follow. */
  readonly tables: number;
}

export interface SchemaHeader {
  /** The applied migrations, in order. */
  readonly migrations: readonly string[];
  readonly state: SchemaState;
  /** The last values of its sequences. */
  readonly sequences: Readonly<Record<string, string>>;
}

/** Throws BackupError for an invalid header, another format, or a newer version of this program. */
export function checkHeader(value: unknown, schemas: readonly BackedUpSchema[]): ArchiveHeader {
  const header = value as Partial<ArchiveHeader> | null;
  if (typeof header !== 'object' || header === null || typeof header.svcBackup !== 'number') throw notABackup();
  const version =
    typeof header.version === 'string' && /^[\w.+-]{1,64}$/.test(header.version)
      ? header.version
      : 'an unknown version';
  if (header.svcBackup !== formatVersion)
    throw new BackupError(
      `The backup is of format ${header.svcBackup}, by ${version}; this program reads format ${formatVersion}: restore it with that version.`,
    );
  if (
    !isCount(header.tables) ||
    typeof header.schemas !== 'object' ||
    header.schemas === null ||
    !isTime(header.created)
  )
    throw notABackup();
  if (!Object.keys(header.schemas).every((key) => schemas.some(({ name }) => name === key))) throw notABackup();
  for (const { name, migrations, stateLimits = {} } of schemas) {
    const schema: unknown = Object.hasOwn(header.schemas, name) ? header.schemas[name] : undefined;
    if (!isSchemaHeader(schema, stateLimits)) throw notABackup();
    const newer = schema.migrations.find((migration, i) => migration !== migrations[i]?.name);
    if (newer !== undefined)
      throw new BackupError(
        `The backup was made by ${version}, which is newer than this program (migration ${newer.slice(0, 64)} of schema ${name} is not known here); restore it with that version.`,
      );
  }
  return header as ArchiveHeader;
}

export function notABackup(): BackupError {
  return new BackupError('This is not a backup made by svc backup.');
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
const isTime = (value: unknown): boolean =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/.test(value);

function isSchemaHeader(value: unknown, limits: SchemaState): value is SchemaHeader {
  const { migrations, state, sequences } = (value ?? {}) as Partial<SchemaHeader>;
  if (
    !Array.isArray(migrations) ||
    migrations.length === 0 ||
    !migrations.every((name) => typeof name === 'string' && /^\d{4}_[a-z0-9_]{1,58}$/.test(name))
  )
    return false;
  if (
    typeof state !== 'object' ||
    state === null ||
    !Object.entries(state).every(
      ([name, number]) => Object.hasOwn(limits, name) && isCount(number) && number <= limits[name]!,
    )
  )
    return false;
  return (
    typeof sequences === 'object' &&
    sequences !== null &&
    Object.entries(sequences).every(
      ([name, text]) => /^[a-z][a-z0-9_]{0,62}$/.test(name) && typeof text === 'string' && /^[1-9]\d{0,17}$/.test(text),
    )
  );
}
