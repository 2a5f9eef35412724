import { lstat, open, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { Writable } from 'node:stream';
import { backUp, BackupError, newProgress, type BackupSummary } from '#pkg/backup/index';
import { backedUpSchemas } from './backed-up-schemas.ts';
import { withOperatorDatabase, type OperatorDatabase } from '../../composition/open-operator-database.ts';
import { OperatorError } from '../../options/operator-error.ts';
import type { Options } from '../../options/option-table.ts';
import { reportProgress } from './report-progress.ts';
import { svcVersion } from '../../process/svc-version.ts';
import { untilInterrupted } from '../../process/until-interrupted.ts';

/** A partial backup file without a new byte for this long belongs to a killed process: a running one fails earlier. */
const stalePartMs = 60 * 60_000;
const maxParts = 9;

/** Writes a backup to a file, or to stdout. Throws OperatorError, DatabaseError. */
export function backup(options: Options, { to, force }: { to: string | undefined; force: boolean }): Promise<number> {
  if ((to === undefined || to === '-') && process.stdout.isTTY)
    throw new OperatorError('A backup is binary: give a file with --to, or redirect it with > or |.');
  const target = to === undefined || to === '-' ? undefined : { file: resolve(to), force };
  return untilInterrupted(async (signal) => {
    // Checked before an embedded database is started.
    if (target !== undefined) await checkTarget(target);
    return withOperatorDatabase(options, { applicationName: 'svc backup' }, async (opened) => {
      const summary = await withBackupErrors(
        target === undefined
          ? write(opened, stdoutSink(process.stdout), signal)
          : toFile(opened, { ...target, signal }),
      );
      const { revision } = summary.states['platform']!;
      opened.log.info(
        { revision, tables: summary.tables, rows: summary.rows, bytes: summary.bytes },
        'the backup is complete',
      );
      return 0;
    });
  });
}

interface Target {
  file: string;
  force: boolean;
}

/** Creates no folders: a missing one is a volume that is not mounted, or a mistake. */
async function checkTarget({ file, force }: Target): Promise<void> {
  const folder = await stat(dirname(file)).catch(() => undefined);
  if (folder?.isDirectory() !== true) throw new OperatorError(`There is no folder ${dirname(file)} for the backup.`);
  const there = await stat(file).catch(() => undefined);
  if (there?.isDirectory() === true) throw new OperatorError(`${file} is a folder; give the name of a file in it.`);
  if (there !== undefined && !there.isFile())
    throw new OperatorError(`${file} is not a regular file; redirect the backup there with >.`);
  if (there !== undefined && !force)
    throw new OperatorError(`${file} exists already; give another name, or --force to replace it.`);
}

/** A partial backup never has the final name. */
async function toFile(
  opened: OperatorDatabase,
  { file, force, signal }: Target & { signal: AbortSignal },
): Promise<BackupSummary> {
  const { handle, part } = await openPart(file);
  const { ino } = await handle.stat();
  const isOurs = async (): Promise<boolean> => (await stat(part).catch(() => undefined))?.ino === ino;
  try {
    const summary = await write(opened, handle.createWriteStream({ flush: true }), signal);
    if (!(await isOurs()))
      throw new OperatorError(`${part} was removed while the backup was written; this backup is lost.`);
    if (!force && (await stat(file).catch(() => undefined)) !== undefined)
      throw new OperatorError(`${file} was created meanwhile; this backup is discarded.`);
    await rename(part, file);
    await syncFolder(dirname(file));
    return summary;
  } catch (error) {
    await handle.close().catch(() => undefined);
    if (await isOurs()) await rm(part, { force: true });
    throw error;
  }
}

/**
 * Concurrent backups to one file have different partial files. The partial file of a killed backup is replaced after an
 * hour.
 */
async function openPart(file: string): Promise<{ handle: FileHandle; part: string }> {
  for (let i = 1; i <= maxParts; i += 1) {
    const part = i === 1 ? `${file}.partial` : `${file}.${i}.partial`;
    const left = await lstat(part).catch(() => undefined);
    if (left?.isFile() === true && Date.now() - left.mtimeMs > stalePartMs) await rm(part, { force: true });
    const handle = await open(part, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
    if (handle !== undefined) return { handle, part };
  }
  throw new OperatorError(
    `${maxParts} other backups are being written to ${file}, or were killed less than an hour ago.`,
  );
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function write({ database, log }: OperatorDatabase, sink: Writable, signal: AbortSignal): Promise<BackupSummary> {
  const progress = newProgress();
  const stop = reportProgress({
    log,
    progress,
    fraction: () => (progress.expectedRows === 0 ? undefined : progress.rows / progress.expectedRows),
  });
  try {
    return await backUp({ database, schemas: backedUpSchemas, version: svcVersion(), signal, progress }, sink);
  } finally {
    stop();
  }
}

/** Turns errors that an operator can fix into OperatorError. */
export async function withBackupErrors<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (error instanceof BackupError) throw new OperatorError(error.message, { cause: error });
    if (code === 'EPIPE' || code === 'ERR_STREAM_PREMATURE_CLOSE')
      throw new OperatorError('The process at the other end of the pipe has ended.', { cause: error });
    if (code === 'ENOSPC') throw new OperatorError('The disk is full.', { cause: error });
    throw error;
  }
}

/**
 * A stream that writes to `stdout` without ending it. It finishes once everything is written, because bytes that stdout
 * still buffers are lost when the process exits.
 */
export function stdoutSink(stdout: Writable): Writable {
  // The failing write reports the error.
  stdout.on('error', () => undefined);
  return new Writable({ write: (piece: Buffer, _encoding, done) => void stdout.write(piece, done) });
}
