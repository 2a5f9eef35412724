import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { listMajors } from '../../pkg/database/embedded/cluster.ts';
import { DataDirLock } from '../../pkg/database/embedded/data-dir-lock.ts';
import { isPostmaster, readPidFile } from '../../pkg/database/embedded/pid-file.ts';
import { adoptPostmaster } from '../../pkg/database/embedded/postmaster.ts';
import { removeSocketDirectory } from '../../pkg/database/embedded/socket-directory.ts';

/** A newer one may belong to a run that has just started and not locked it yet. */
const minAgeMs = 10 * 60_000;

/** Stops and removes the databases of killed test runs; running ones hold a lock. */
export async function removeAbandoned(folder: string, prefix: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (name.startsWith(prefix)) await removeIfAbandoned(join(folder, name)).catch(() => {});
  }
}

async function removeIfAbandoned(dataDir: string): Promise<void> {
  const { mtimeMs, uid } = await stat(dataDir);
  if (uid !== process.getuid?.() || Date.now() - mtimeMs < minAgeMs) return;
  await removeDatabase(dataDir);
}

/** Stops the PostgreSQL of a data folder, and removes both. Throws DatabaseError while a run holds it. */
export async function removeDatabase(dataDir: string): Promise<void> {
  const lock = await DataDirLock.acquire(dataDir);
  try {
    for (const major of await listMajors(dataDir)) await stopPostgres(join(dataDir, `pgdata-${major}`));
    await rm(dataDir, { recursive: true, force: true });
  } finally {
    await lock.release();
  }
}

async function stopPostgres(pgdata: string): Promise<void> {
  const pidFile = await readPidFile(pgdata);
  if (pidFile === undefined) return;
  if (await isPostmaster(pidFile.pid, pgdata))
    await adoptPostmaster(pidFile.pid, pgdata, pidFile.socketDirectory).stop();
  await removeSocketDirectory(pidFile.socketDirectory);
}
