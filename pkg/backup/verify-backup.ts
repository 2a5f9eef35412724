import type { Readable } from 'node:stream';
import type { BackedUpSchema } from './backed-up-schema.ts';
import { contentsMadeBy, type Contents } from './check-contents.ts';
import { countRows, newProgress, type Progress } from './progress.ts';
import { newForeignObject, readArchiveTables, withArchive, type ArchiveOptions } from './read-archive.ts';
import type { RestoreSummary } from './restore.ts';

export interface VerifyOptions extends ArchiveOptions {
  readonly progress?: Progress;
}

/**
 * Reads a backup to its end without a database, and checks all that a restore checks of the file: its format and
 * version, its tables, columns and sequences, the number of rows, and the checksum. Whether the rows fit each other, only a
 * restore finds out.
 * @throws BackupError as `restore`
 */
export function verifyBackup(options: VerifyOptions, source: Readable): Promise<RestoreSummary> {
  const { schemas, progress = newProgress() } = options;
  return withArchive(options, source, async ({ reader, header }) => {
    const migrated = new Map<BackedUpSchema, Contents['tables']>();
    for (const schema of schemas) {
      const { migrations, sequences } = header.schemas[schema.name]!;
      const made = contentsMadeBy(schema, migrations);
      const foreign = Object.keys(sequences).find((name) => !made.sequences.includes(name));
      if (foreign !== undefined) throw newForeignObject('sequence', `${schema.name}.${foreign}`);
      migrated.set(schema, made.tables);
    }
    progress.stage = 'rows';
    const tables = await readArchiveTables({ reader, header, migrated, progress }, async (_table, pieces) => {
      let rows = 0;
      for await (const piece of pieces) rows += countRows(piece);
      return rows;
    });
    return { version: header.version, created: header.created, tables: tables.length, rows: progress.rows };
  });
}
