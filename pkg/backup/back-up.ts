import type { Client, ClientBase } from 'pg';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { to as copyTo } from 'pg-copy-streams';
import { DatabaseError, type Database } from '#pkg/database/index';
import { formatVersion, type ArchiveHeader, type SchemaHeader } from './archive-header.ts';
import { ArchiveWriter } from './archive-writer.ts';
import type { BackedUpSchema, SchemaState } from './backed-up-schema.ts';
import { BackupError } from './backup-error.ts';
import { checkContents } from './check-contents.ts';
import { countRows, newProgress, type Progress } from './progress.ts';
import { readShape, readTables, type BackedUpTable, type TableSize } from './read-tables.ts';
import { StallTimeout } from './stall-timeout.ts';
import { quoteIdentifier, quoteTable } from './table-shape.ts';
import { inTransaction } from './in-transaction.ts';

/** zlib's level, chosen by measurement: see docs/backup.md. */
const compressionLevel = 2;
const maxAttempts = 30;
const defaultStallLimitMs = 10 * 60_000;
const begin = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY';

export interface BackUpOptions {
  readonly database: Database;
  readonly schemas: readonly BackedUpSchema[];
  /** The version of the product. */
  readonly version: string;
  /** Aborts the backup at once with the signal's reason. */
  readonly signal: AbortSignal;
  readonly progress?: Progress;
  /** The backup fails after this time without a byte accepted or a row read. Milliseconds, 10 minutes by default. */
  readonly stallLimitMs?: number;
}

export interface BackupSummary {
  readonly tables: number;
  readonly rows: number;
  /** Before compression. */
  readonly bytes: number;
  readonly states: Readonly<Record<string, SchemaState>>;
}

/**
 * Writes all rows of the schemas, as of one moment, to `sink`, and ends it. Servers continue, but changes to a model's
 * indexes, and its deletion, wait. It only reads, so a standby is enough. Throws BackupError, and errors of `sink`.
 */
export async function backUp(options: BackUpOptions, sink: Writable): Promise<BackupSummary> {
  const { database, schemas, signal, progress = newProgress() } = options;
  const stall = new StallTimeout(signal, options.stallLimitMs ?? defaultStallLimitMs);
  try {
    for (let attempt = 1; ; attempt += 1) {
      const known = await inTransaction(database, { begin, signal: stall.signal }, (client) =>
        readCatalogue(client, schemas),
      );
      const result = await inTransaction(database, { begin, signal: stall.signal }, async (client) => {
        const held = await lockTables(client, schemas, known.tables);
        return held === undefined ? undefined : writeArchive({ ...options, ...held, client, progress, stall }, sink);
      });
      if (result !== undefined) return result;
      if (attempt === maxAttempts)
        throw new BackupError('Models are created and deleted too fast to lock all their tables: try again.');
    }
  } finally {
    stall.end();
  }
}

/** The state that a transaction sees. */
interface Catalogue {
  readonly tables: readonly (BackedUpTable & TableSize)[];
  /** Names of migrations, by schema. */
  readonly applied: ReadonlyMap<string, readonly string[]>;
  readonly sequences: ReadonlyMap<string, readonly Sequence[]>;
}

interface Sequence {
  readonly name: string;
  /** Null if it has not been used yet. */
  readonly value: string | null;
}

/**
 * Reads the catalogue without waiting for a table's lock. Throws BackupError if there is nothing to back up, or
 * something that no restore would accept.
 */
async function readCatalogue(client: ClientBase, schemas: readonly BackedUpSchema[]): Promise<Catalogue> {
  const applied = await checkMigrations(client, schemas);
  const tables = await readTables(client, schemas);
  const sequences = new Map<string, Sequence[]>();
  for (const schema of schemas) {
    const ofSchema = await readSequences(client, schema.name);
    const migrated = tables.filter(
      ({ schema: name, table }) => name === schema.name && schema.runtimeTables?.pattern.test(table) !== true,
    );
    checkContents(schema, applied.get(schema.name)!, {
      tables: new Map(migrated.map(({ table, columns }) => [table, columns])),
      sequences: ofSchema.map(({ name }) => name),
    });
    sequences.set(schema.name, ofSchema);
  }
  return { tables, applied, sequences };
}

interface LockedTables {
  tables: readonly (BackedUpTable & TableSize)[];
  headers: readonly (readonly [string, SchemaHeader])[];
}

/** Undefined if tables have changed since they were read: the transaction is then useless. */
async function lockTables(
  client: ClientBase,
  schemas: readonly BackedUpSchema[],
  known: readonly BackedUpTable[],
): Promise<LockedTables | undefined> {
  try {
    // Locks first, then the snapshot, which the first SELECT takes: the tables then stay as in the snapshot until the
    // end. A table rewritten after a snapshot is empty in it.
    await client.query(`LOCK TABLE ${known.map(nameOf).join(', ')} IN ACCESS SHARE MODE`);
    const seen = await readCatalogue(client, schemas);
    return namesOf(seen.tables) === namesOf(known)
      ? { tables: seen.tables, headers: await readHeaders(client, schemas, seen) }
      : undefined;
  } catch (error) {
    // A table or column that no longer exists.
    if (['42P01', '42703'].includes((error as { code?: string }).code ?? '')) return undefined;
    throw error;
  }
}

async function readHeaders(
  client: ClientBase,
  schemas: readonly BackedUpSchema[],
  { applied, sequences }: Catalogue,
): Promise<[string, SchemaHeader][]> {
  const headers: [string, SchemaHeader][] = [];
  for (const schema of schemas) {
    const { name } = schema;
    const values = sequences
      .get(name)!
      .flatMap((sequence) => (sequence.value === null ? [] : [[sequence.name, sequence.value]]));
    headers.push([
      name,
      {
        migrations: applied.get(name)!,
        state: (await schema.readState?.(client)) ?? {},
        sequences: Object.fromEntries(values) as Record<string, string>,
      },
    ]);
  }
  return headers;
}

/** Returns the applied migrations by schema. */
async function checkMigrations(client: ClientBase, schemas: readonly BackedUpSchema[]): Promise<Map<string, string[]>> {
  const applied = new Map<string, string[]>();
  for (const { name, migrations } of schemas) {
    const { rows: there } = await client.query<{ there: boolean }>('SELECT to_regclass($1) IS NOT NULL AS there', [
      `${quoteIdentifier(name)}.migration`,
    ]);
    if (there[0]?.there !== true)
      throw new BackupError(`There is nothing to back up: the database has no schema ${name} of svc.`);
    const { rows } = await client.query<{ name: string }>(
      `SELECT name FROM ${quoteIdentifier(name)}.migration ORDER BY name COLLATE "C"`,
    );
    const newer = rows.find((row, i) => row.name !== migrations[i]?.name);
    if (newer !== undefined)
      throw new DatabaseError(
        `Schema ${name} was migrated by a newer version of this program (${newer.name} is not known here); run that version.`,
      );
    applied.set(
      name,
      rows.map((row) => row.name),
    );
  }
  return applied;
}

interface Writing extends BackUpOptions, LockedTables {
  client: Client;
  progress: Progress;
  stall: StallTimeout;
}

async function writeArchive(writing: Writing, sink: Writable): Promise<BackupSummary> {
  const { headers, stall, tables, version, progress } = writing;
  const header: ArchiveHeader = {
    svcBackup: formatVersion,
    version,
    created: new Date().toISOString(),
    schemas: Object.fromEntries(headers),
    tables: tables.length,
  };
  const writer = new ArchiveWriter();
  progress.stage = 'rows';
  progress.expectedRows = tables.reduce((sum, { rows }) => sum + rows, 0);
  await pipeline(
    Readable.from(archive(writing, writer, header), { objectMode: false, highWaterMark: 256 * 1024 }),
    createGzip({ level: compressionLevel, chunkSize: 128 * 1024 }),
    sink,
    { signal: stall.signal },
  );
  progress.stage = 'finishing';
  return {
    tables: tables.length,
    rows: progress.rows,
    bytes: writer.bytes,
    states: Object.fromEntries(headers.map(([name, { state }]) => [name, state])),
  };
}

async function* archive(
  { client, schemas, tables, progress, stall }: Writing,
  writer: ArchiveWriter,
  header: ArchiveHeader,
): AsyncGenerator<Buffer> {
  yield writer.line(header);
  let rows = 0;
  for (const { rows: _expected, ...table } of tables) {
    const schema = schemas.find(({ name }) => name === table.schema)!;
    const { runtimeTables } = schema;
    const shape =
      runtimeTables?.pattern.test(table.table) === true
        ? { shape: await readShape(client, table, Object.keys(runtimeTables.triggers)) }
        : {};
    yield writer.line({ ...table, ...shape });
    const source = client.query(copyTo(`COPY ${sourceOf(schema, table)} TO STDOUT`));
    for await (const piece of source as AsyncIterable<Buffer>) {
      yield* writer.block(piece);
      progress.rows += countRows(piece);
      progress.bytes = writer.bytes;
      stall.moved();
    }
    yield writer.endOfRows();
    // Its answer arrives after that of COPY, which has the number of rows.
    await client.query('SELECT');
    rows += source.rowCount;
    yield writer.line({ rows: source.rowCount });
  }
  progress.rows = rows;
  yield writer.end({ tables: tables.length, rows });
}

function sourceOf({ selections }: BackedUpSchema, table: BackedUpTable): string {
  const selection = Object.hasOwn(selections, table.table) ? selections[table.table] : undefined;
  return selection === undefined
    ? `${nameOf(table)} (${table.columns.map(quoteIdentifier).join(', ')})`
    : `(SELECT ${table.columns.map(quoteIdentifier).join(', ')} FROM (${selection}) selected)`;
}

async function readSequences(client: ClientBase, schema: string): Promise<Sequence[]> {
  return (
    await client.query<Sequence>(
      'SELECT sequencename AS name, last_value AS value FROM pg_sequences WHERE schemaname = $1',
      [schema],
    )
  ).rows;
}

const nameOf = ({ schema, table }: BackedUpTable): string => quoteTable(schema, table);
const namesOf = (tables: readonly BackedUpTable[]): string =>
  tables.map((table) => `${nameOf(table)} ${table.columns.join(' ')}`).join('\n');
