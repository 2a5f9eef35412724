import { copyFile, open, rename, rm, stat, truncate, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { lastLines } from './run-program.ts';

const maxLogBytes = 10 * 1024 * 1024;
const keptLogBytes = 8 * 1024;

/** Opens `postgres.log` in the data folder for appending; a file over 10 MB is first renamed to `postgres.log.1`. */
export async function openPostgresLog(dataDir: string): Promise<FileHandle> {
  const path = join(dataDir, 'postgres.log');
  const size = await stat(path).then(
    (entry) => entry.size,
    () => 0,
  );
  if (size > maxLogBytes) await rename(path, `${path}.1`);
  return open(path, 'a+', 0o600);
}

/**
 * The same while PostgreSQL writes to it; PostgreSQL continues at the file's new end. If the disk has no room for the
 * copy, the old content is dropped.
 */
export async function cutPostgresLog(dataDir: string): Promise<void> {
  const path = join(dataDir, 'postgres.log');
  const size = await stat(path).then(
    (entry) => entry.size,
    () => 0,
  );
  if (size <= maxLogBytes) return;
  await rm(`${path}.1`, { force: true });
  await copyFile(path, `${path}.1`).catch(() => undefined);
  await truncate(path);
}

/** The last lines written after a position. */
export async function readLogTail(log: FileHandle, from: number): Promise<string> {
  const { size } = await log.stat();
  const start = Math.max(from, size - keptLogBytes);
  const { buffer, bytesRead } = await log.read({ buffer: Buffer.alloc(keptLogBytes), position: start });
  return lastLines(buffer.toString('utf8', 0, bytesRead));
}
