import type { Client, ClientBase } from 'pg';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { Kysely, PostgresDialect } from 'kysely';
import { from as copyFrom } from 'pg-copy-streams';
import { migrateWithin, type Database } from '#pkg/database/index';
import { checkHeader, notABackup, type ArchiveHeader } from './archive-header.ts';
import { ArchiveReader, damaged } from './archive-reader.ts';
import type { BackedUpSchema } from './backed-up-schema.ts';
import { BackupError } from './backup-error.ts';
import { dropExistingSchemas } from './drop-existing-schemas.ts';
import { completeTables } from './complete-tables.ts';
import { countRows, newProgress, type Progress } from './progress.ts';
import { migratedTables } from './read-tables.ts';
import type { RestoredTable } from './restored-table.ts';
import { StallTimeout } from './stall-timeout.ts';
import { checkShape, createTableText, quoteIdentifier } from './table-shape.ts';
import { inTransaction, UnansweredCommit } from './in-transaction.ts';

const defaultStallLimitMs = 10 * 60_000;
/** An access server that has lost its connection retries after 7.5 s at the latest. */
const defaultServerWaitMs = 9_000;

export interface RestoreOptions {
  readonly database: Database;
  readonly schemas: readonly BackedUpSchema[];
  /** Drops existing schemas in the same transaction. */
  readonly replace: boolean;
  /** Aborts the restore with the signal's reason; nothing is changed. */
  readonly signal: AbortSignal;
  readonly progress?: Progress;
  /** The restore fails after this time without a byte of the backup. Milliseconds, default 10 minutes. */
  readonly stallLimitMs?: number;
  /**
   * How long the restore looks for servers that reconnect before it replaces existing schemas. Milliseconds, default
   * 9000.
   */
  readonly serverWaitMs?: number;
}

export interface RestoreSummary {
  /** Version of the program that wrote the backup. */
  readonly version: string;
  readonly created: string;
  readonly tables: number;
  readonly rows: number;
}

/**
 * Restores what `backUp` wrote, in one transaction. The schemas then have the version of the backup; the next start of
 * a server migrates them.
 * @throws BackupError if schemas exist and `replace` is not set, if servers use them, and for a backup that is damaged,
 * truncated, forged or of a newer version; UnansweredCommit if the connection was lost, or `signal` aborted, after
 * COMMIT was sent
 */
export async function restore(options: RestoreOptions, source: Readable): Promise<RestoreSummary> {
  const stall = new StallTimeout(options.signal, options.stallLimitMs ?? defaultStallLimitMs);
  const gunzip = createGunzip({ chunkSize: 128 * 1024 });
  // The reader notices the end; `pipeline` passes a failure of either stream to the reader.
  const reading = pipeline(source, gunzip, { signal: stall.signal });
  reading.catch(() => undefined);
  try {
    const reader = new ArchiveReader(piecesOf(gunzip, stall));
    const header = checkHeader(await reader.line(), options.schemas);
    return await inTransaction(
      options.database,
      { begin: 'BEGIN ISOLATION LEVEL READ COMMITTED', signal: stall.signal },
      (client) =>
        restoreWithin({ ...options, stall, client, reader, header, progress: options.progress ?? newProgress() }),
    );
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

interface Restoring extends RestoreOptions {
  client: Client;
  reader: ArchiveReader;
  header: ArchiveHeader;
  progress: Progress;
  stall: StallTimeout;
}

async function restoreWithin(restoring: Restoring): Promise<RestoreSummary> {
  const { client, schemas, header, progress, stall } = restoring;
  const replaced = await dropExistingSchemas(client, schemas, {
    replace: restoring.replace,
    serverWaitMs: restoring.serverWaitMs ?? defaultServerWaitMs,
  });
  for (const { name, migrations } of schemas)
    await migrateWithin(kyselyOver(client), name, migrations, { through: header.schemas[name]!.migrations.at(-1)! });
  await client.query("SELECT set_config('search_path', 'pg_catalog', true), set_config('lock_timeout', '60s', true)");
  const foreignKeys = await dropForeignKeys(client, schemas);
  progress.stage = 'rows';
  const tables = await readRows(restoring);
  stall.pause();
  progress.stage = 'indexes';
  await completeTables(client, tables, { foreignKeys, progress });
  progress.stage = 'finishing';
  await setSequences(client, schemas, header);
  for (const schema of schemas)
    await schema.adopt?.(client, {
      state: header.schemas[schema.name]!.state,
      replaced: replaced.get(schema.name),
      tables: runtimeTablesOf(schema, tables),
    });
  for (const { schema, table } of tables)
    await client.query(`ANALYZE ${quoteIdentifier(schema.name)}.${quoteIdentifier(table)}`);
  return { version: header.version, created: header.created, tables: tables.length, rows: progress.rows };
}

function runtimeTablesOf(schema: BackedUpSchema, tables: readonly RestoredTable[]): Map<string, readonly string[]> {
  return new Map(
    tables
      .filter((table) => table.schema === schema && table.shape !== undefined)
      .map(({ table, columns }) => [table, columns]),
  );
}

/**
 * Drops all foreign keys, which only migrations have created, and returns the statements that restore them after the
 * rows are inserted.
 */
async function dropForeignKeys(client: ClientBase, schemas: readonly BackedUpSchema[]): Promise<string[]> {
  const { rows } = await client.query<{ table: string; name: string; definition: string }>(
    `SELECT conrelid::regclass::text AS table, quote_ident(conname) AS name, pg_get_constraintdef(oid) AS definition FROM pg_constraint
     WHERE contype = 'f' AND connamespace IN (SELECT oid FROM pg_namespace WHERE nspname = ANY ($1))`,
    [schemas.map(({ name }) => name)],
  );
  for (const { table, name } of rows) await client.query(`ALTER TABLE ${table} DROP CONSTRAINT ${name}`);
  return rows.map(({ table, name, definition }) => `ALTER TABLE ${table} ADD CONSTRAINT ${name} ${definition}`);
}

async function readRows({ client, reader, header, schemas, progress }: Restoring): Promise<RestoredTable[]> {
  const migrated = new Map<BackedUpSchema, Map<string, readonly string[]>>();
  for (const schema of schemas) migrated.set(schema, await migratedTables(client, schema));
  const tables: RestoredTable[] = [];
  const seen = new Set<string>();
  let rows = 0;
  while (tables.length < header.tables) {
    const table = tableOf(await reader.line(), schemas, migrated);
    const name = `${quoteIdentifier(table.schema.name)}.${quoteIdentifier(table.table)}`;
    if (seen.has(name)) throw damaged();
    seen.add(name);
    tables.push(table);
    // Created or truncated in this transaction, so that rows can be written frozen: no later vacuum has to rewrite
    // them.
    await client.query(table.shape === undefined ? `TRUNCATE ${name}` : createTableText(name, table.shape));
    const count = await copyRows(
      client,
      `COPY ${name} (${table.columns.map(quoteIdentifier).join(', ')}) FROM STDIN WITH (FREEZE)`,
      counted(reader.rows(), progress),
    );
    const rowsLine = (await reader.line()) as { rows?: unknown } | null | undefined;
    if (rowsLine?.rows !== count) throw damaged();
    rows += count;
  }
  await reader.end({ tables: header.tables, rows });
  // A table missing from the backup must not exist.
  for (const [schema, known] of migrated)
    for (const table of known.keys())
      if (!seen.has(`${quoteIdentifier(schema.name)}.${quoteIdentifier(table)}`)) throw damaged();
  progress.rows = rows;
  return tables;
}

/** The next table of the backup. Only a known name, or one in the form of a known name, is used in SQL. */
function tableOf(
  value: unknown,
  schemas: readonly BackedUpSchema[],
  migrated: ReadonlyMap<BackedUpSchema, ReadonlyMap<string, readonly string[]>>,
): RestoredTable {
  const {
    schema: schemaName,
    table,
    columns,
    shape: described,
  } = (value ?? {}) as { schema?: unknown; table?: unknown; columns?: unknown; shape?: unknown };
  const schema = schemas.find(({ name }) => name === schemaName);
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
function newForeignObject(what: string, name: string): BackupError {
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

async function copyRows(client: Client, text: string, pieces: AsyncIterable<Buffer>): Promise<number> {
  const sink = client.query(copyFrom(text));
  // PostgreSQL may report an error while nothing is being written.
  const refused = new Promise<never>((_, reject) => sink.once('error', reject));
  await Promise.race([
    pipeline(Readable.from(pieces, { objectMode: false, highWaterMark: 256 * 1024 }), sink),
    refused,
  ]);
  return sink.rowCount;
}

async function setSequences(
  client: ClientBase,
  schemas: readonly BackedUpSchema[],
  header: ArchiveHeader,
): Promise<void> {
  for (const { name: schema } of schemas) {
    for (const [name, value] of Object.entries(header.schemas[schema]!.sequences)) {
      const { rowCount } = await client.query(
        'SELECT setval(c.oid, $3::bigint) FROM pg_class c WHERE c.relnamespace = to_regnamespace($1) AND c.relname = $2 AND c.relkind = $4',
        [schema, name, value, 'S'],
      );
      if (rowCount !== 1) throw newForeignObject('sequence', `${schema}.${name}`);
    }
  }
}

/** Migrations use kysely; all their statements run on this one connection. */
function kyselyOver(client: Client): Kysely<unknown> {
  const only = { query: client.query.bind(client), release: () => undefined };
  return new Kysely({
    dialect: new PostgresDialect({
      pool: { connect: async () => Promise.resolve(only as never), end: async () => Promise.resolve() },
    }),
  });
}
