import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { Logger } from 'pino';
import { newProgress, type Progress } from '#pkg/backup/index';
import { OperatorError } from '../../options/operator-error.ts';
import { reportProgress } from './report-progress.ts';

export interface OpenedBackup {
  readonly source: Readable;
  /** Bytes, if known. */
  readonly size: number | undefined;
}

/** Opens a backup in a file, or on stdin without a name or with `-`. */
export async function openBackup(from: string | undefined): Promise<OpenedBackup> {
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

/** Runs `read`, and reports meanwhile how much of the backup is read. */
export async function reportReading<T>(
  log: Logger,
  { source, size }: OpenedBackup,
  read: (progress: Progress) => Promise<T>,
): Promise<T> {
  const progress = newProgress();
  const stop = reportProgress({
    log,
    progress,
    fraction: () =>
      size === undefined || size === 0 ? undefined : (source as Readable & { bytesRead: number }).bytesRead / size,
  });
  try {
    return await read(progress);
  } finally {
    stop();
  }
}
