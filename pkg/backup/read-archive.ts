import { pipeline } from 'node:stream/promises';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { checkHeader, notABackup, type ArchiveHeader } from './archive-header.ts';
import { ArchiveReader, damaged } from './archive-reader.ts';
import type { BackedUpSchema } from './backed-up-schema.ts';
import { BackupError } from './backup-error.ts';
import { UnansweredCommit } from './in-transaction.ts';
import { countRows, type Progress } from './progress.ts';
import type { RestoredTable } from './restored-table.ts';
import { StallTimeout } from './stall-timeout.ts';
import { checkShape, quoteTable } from './table-shape.ts';

const defaultStallLimitMs = 10 * 60_000;

export interface ArchiveOptions {
  readonly schemas: readonly BackedUpSchema[];
  /** Aborts the reading with the signal's reason. */
  readonly signal: AbortSignal;
  /** The reading fails after this time without a byte of the backup. Milliseconds, default 10 minutes. */
  readonly stallLimitMs?: number;
}

export interface OpenArchive {
  readonly reader: ArchiveReader;
  readonly header: ArchiveHeader;
  readonly stall: StallTimeout;
}

/**
 * Runs `read` over the backup behind its header, and destroys the source at the end.
 * @throws BackupError for what is no backup, or one of a newer version
 */
export async function withArchive<T>(
  { schemas, signal, stallLimitMs = defaultStallLimitMs }: ArchiveOptions,
  source: Readable,
  read: (archive: OpenArchive) => Promise<T>,
): Promise<T> {
  const stall = new StallTimeout(signal, stallLimitMs);
  const gunzip = createGunzip({ chunkSize: 128 * 1024 });
  // The reader notices the end; `pipeline` passes a failure of either stream to the reader.
  const reading = pipeline(source, gunzip, { signal: stall.signal });
  reading.catch(() => undefined);
  try {
    const reader = new ArchiveReader(piecesOf(gunzip, stall));
    const header = checkHeader(await reader.line(), schemas);
    return await read({ reader, header, stall });
  } catch (error) {
    throw stall.signal.aborted && !(error instanceof UnansweredCommit) ? stall.signal.reason : error;
  } finally {
    stall.end();
    source.destroy();
    gunzip.destroy();
  }
}

/** Throws BackupError if the source is not gzip. */
async function* piecesOf(gunzip: Readable, stall: StallTimeout): AsyncGenerator<Buffer> {
  let isFirst = true;
  try {
    for await (const piece of gunzip as AsyncIterable<Buffer>) {
      isFirst = false;
      stall.moved();
      yield piece;
    }
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code === 'Z_BUF_ERROR') throw new BackupError('The backup is incomplete: it was cut short.', { cause: error });
    if (typeof code === 'string' && code.startsWith('Z_')) throw isFirst ? notABackup() : damaged();
    throw error;
  }
}

/** The columns of the tables that migrations create, by schema and table. */
export type MigratedTables = ReadonlyMap<BackedUpSchema, ReadonlyMap<string, readonly string[]>>;

interface ReadingTables extends Pick<OpenArchive, 'reader' | 'header'> {
  migrated: MigratedTables;
  progress: Progress;
}

/**
 * Reads the backup to its end. `take` gets every table with the pieces of its rows, must read all of them, and returns
 * how many rows there are.
 * @throws BackupError unless the backup is whole and unaltered, and has every migrated table once
 */
export async function readArchiveTables(
  { reader, header, migrated, progress }: ReadingTables,
  take: (table: RestoredTable, pieces: AsyncIterable<Buffer>) => Promise<number>,
): Promise<RestoredTable[]> {
  const tables: RestoredTable[] = [];
  const seen = new Set<string>();
  let rows = 0;
  while (tables.length < header.tables) {
    const table = tableOf(await reader.line(), migrated);
    const name = quoteTable(table.schema.name, table.table);
    if (seen.has(name)) throw damaged();
    seen.add(name);
    tables.push(table);
    const count = await take(table, counted(reader.rows(), progress));
    const rowsLine = (await reader.line()) as { rows?: unknown } | null | undefined;
    if (rowsLine?.rows !== count) throw damaged();
    rows += count;
  }
  await reader.end({ tables: header.tables, rows });
  // A table missing from the backup must not exist.
  for (const [schema, known] of migrated)
    for (const table of known.keys()) if (!seen.has(quoteTable(schema.name, table))) throw damaged();
  progress.rows = rows;
  return tables;
}

/** The next table of the backup. Only a known name, or one in the form of a known name, is used in SQL. */
function tableOf(value: unknown, migrated: MigratedTables): RestoredTable {
  const {
    schema: schemaName,
    table,
    columns,
    shape: described,
  } = (value ?? {}) as { schema?: unknown; table?: unknown; columns?: unknown; shape?: unknown };
  const schema = Array.from(migrated.keys()).find(({ name }) => name === schemaName);
  if (schema === undefined || typeof table !== 'string' || table.length > 63 || !isNames(columns)) throw damaged();
  const { runtimeTables } = schema;
  const shape =
    runtimeTables?.pattern.test(table) === true
      ? checkShape(described, `${schema.name}.${table}`, Object.keys(runtimeTables.triggers))
      : undefined;
  const present = shape?.columns.map(({ name }) => name) ?? migrated.get(schema)?.get(table);
  if (present === undefined) throw newForeignObject('table', `${schema.name}.${table}`);
  const foreign = columns.find((name) => !present.includes(name));
  if (foreign !== undefined) throw newForeignObject('column', `${schema.name}.${table}.${foreign}`);
  if (columns.length !== present.length || !present.every((name) => columns.includes(name))) throw damaged();
  return { schema, table, columns, shape };
}

const isNames = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((name) => typeof name === 'string');

/** For a backup written before such tables were refused. */
export function newForeignObject(what: string, name: string): BackupError {
  if (!/^\w+(\.\w+)+$/.test(name) || name.length > 200) return damaged();
  return new BackupError(
    `The backup cannot be restored: it contains ${what} ${name}, which svc does not back up. Move that to another schema or drop it in the original database, and back up again.`,
  );
}

async function* counted(pieces: AsyncIterable<Buffer>, progress: Progress): AsyncGenerator<Buffer> {
  for await (const piece of pieces) {
    progress.rows += countRows(piece);
    progress.bytes += piece.length;
    yield piece;
  }
}
