import type { Client, ClientBase } from 'pg';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Kysely, PostgresDialect } from 'kysely';
import { from as copyFrom } from 'pg-copy-streams';
import { migrateWithin, type Database } from '#pkg/database/index';
import type { ArchiveHeader } from './archive-header.ts';
import type { ArchiveReader } from './archive-reader.ts';
import type { BackedUpSchema } from './backed-up-schema.ts';
import { dropExistingSchemas } from './drop-existing-schemas.ts';
import { completeTables } from './complete-tables.ts';
import { newProgress, type Progress } from './progress.ts';
import { newForeignObject, readArchiveTables, withArchive, type ArchiveOptions } from './read-archive.ts';
import { migratedTables } from './read-tables.ts';
import type { RestoredTable } from './restored-table.ts';
import type { StallTimeout } from './stall-timeout.ts';
import { createTableText, quoteIdentifier, quoteTable } from './table-shape.ts';
import { inTransaction } from './in-transaction.ts';

/** An access server that has lost its connection retries after 7.5 s at the latest. */
const defaultServerWaitMs = 9_000;

export interface RestoreOptions extends ArchiveOptions {
  readonly database: Database;
  /** Drops existing schemas in the same transaction. */
  readonly replace: boolean;
  readonly progress?: Progress;
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
  return withArchive(options, source, ({ reader, header, stall }) =>
    inTransaction(options.database, { begin: 'BEGIN ISOLATION LEVEL READ COMMITTED', signal: stall.signal }, (client) =>
      restoreWithin({ ...options, stall, client, reader, header, progress: options.progress ?? newProgress() }),
    ),
  );
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
  for (const { schema, table } of tables) await client.query(`ANALYZE ${quoteTable(schema.name, table)}`);
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
  const migrated = new Map<BackedUpSchema, ReadonlyMap<string, readonly string[]>>();
  for (const schema of schemas) migrated.set(schema, await migratedTables(client, schema));
  return readArchiveTables({ reader, header, migrated, progress }, async (table, pieces) => {
    const name = quoteTable(table.schema.name, table.table);
    // Created or truncated in this transaction, so that rows can be written frozen: no later vacuum has to rewrite
    // them.
    await client.query(table.shape === undefined ? `TRUNCATE ${name}` : createTableText(name, table.shape));
    const frozen = (await isPartitioned(client, name)) ? '' : ' WITH (FREEZE)';
    return copyRows(
      client,
      `COPY ${name} (${table.columns.map(quoteIdentifier).join(', ')}) FROM STDIN${frozen}`,
      pieces,
    );
  });
}

/** PostgreSQL copies no frozen rows into such a table. */
async function isPartitioned(client: Client, name: string): Promise<boolean> {
  const { rowCount } = await client.query("SELECT FROM pg_class WHERE oid = $1::regclass AND relkind = 'p'", [name]);
  return rowCount === 1;
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
