import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { Logger } from 'pino';
import { AccessDatabase } from '#pkg/access/index';
import { newProgress, restore, type Progress, type RestoreSummary } from '#pkg/backup/index';
import { backedUpSchemas } from './backed-up-schemas.ts';
import { withBackupErrors } from './backup-command.ts';
import { withOperatorDatabase, type OperatorDatabase } from '../../composition/open-operator-database.ts';
import { openSecrets } from '../../composition/open-secrets.ts';
import { OperatorError } from '../../options/operator-error.ts';
import type { Options } from '../../options/option-table.ts';
import { reportProgress } from './report-progress.ts';
import { untilInterrupted } from '../../process/until-interrupted.ts';

/** Restores a backup from a file or from stdin. Throws OperatorError, DatabaseError. */
export function restoreBackup(
  options: Options,
  { from, replace }: { from: string | undefined; replace: boolean },
): Promise<number> {
  return untilInterrupted(async (signal) => {
    const { source, size } = await openBackup(from);
    try {
      return await withOperatorDatabase(
        options,
        { applicationName: 'svc restore', mayCreate: true },
        async (opened) => {
          const { version, created, tables, rows } = await withBackupErrors(
            read(opened, { source, size, replace, signal }),
          );
          opened.log.info({ version, created, tables, rows }, 'the backup is restored');
          await warnOfKeys(opened, options);
          return 0;
        },
      );
    } finally {
      source.destroy();
    }
  });
}

/** The bytes of a backup in a file, or on stdin without a name or with `-`; `size` in bytes, if it is known. */
export async function openBackup(from: string | undefined): Promise<{ source: Readable; size: number | undefined }> {
  if (from === undefined || from === '-') {
    if (process.stdin.isTTY)
      throw new OperatorError('There is no backup on stdin: give a file with --from, or redirect one with < or |.');
    return { source: process.stdin, size: undefined };
  }
  // Before it starts the database.
  const handle = await open(from).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOENT' ? new OperatorError(`There is no file ${from}.`, { cause: error }) : error;
  });
  const file = await handle.stat();
  if (file.isDirectory()) {
    await handle.close();
    throw new OperatorError(`${from} is a folder; give the name of a file in it.`);
  }
  return { source: handle.createReadStream({ highWaterMark: 256 * 1024 }), size: file.size };
}

/** Reports how much of a backup is read. The returned function ends that. */
export function reportReading({
  log,
  progress,
  source,
  size,
}: {
  log: Logger;
  progress: Progress;
  source: Readable;
  size: number | undefined;
}): () => void {
  return reportProgress({
    log,
    progress,
    fraction: () =>
      size === undefined || size === 0 ? undefined : (source as Readable & { bytesRead: number }).bytesRead / size,
  });
}

/** Warns now about keys that do not fit, because no server would start with them. Creates no keys. */
async function warnOfKeys({ database, log }: OperatorDatabase, options: Options): Promise<void> {
  try {
    // A database without key checks accepts any keys.
    const { rows } = await database.pool.query<{ there: boolean }>(
      "SELECT to_regclass('access.key_checks') IS NOT NULL AS there",
    );
    if (rows[0]?.there !== true || (await database.pool.query('SELECT FROM access.key_checks LIMIT 1')).rowCount === 0)
      return;
    await openSecrets(new AccessDatabase(database), options);
  } catch (error) {
    log.warn(
      { reason: error instanceof Error ? error.message : String(error) },
      'the configured keys cannot open the restored secrets: a server does not start with them; configure the keys of the backed-up server',
    );
  }
}

async function read(
  { database, log }: OperatorDatabase,
  {
    source,
    size,
    replace,
    signal,
  }: { source: Readable; size: number | undefined; replace: boolean; signal: AbortSignal },
): Promise<RestoreSummary> {
  const progress = newProgress();
  const stop = reportReading({ log, progress, source, size });
  try {
    return await restore({ database, schemas: backedUpSchemas, replace, signal, progress }, source);
  } finally {
    stop();
  }
}
