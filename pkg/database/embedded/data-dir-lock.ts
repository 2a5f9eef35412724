import { constants } from 'node:fs';
import { open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseError } from '../database-error.ts';

/** BSD and macOS: open with an exclusive flock; Node's constants lack it. */
const exclusiveLockFlag = 0x20;

/**
 * Prevents a second server on a data folder. The kernel holds the lock and releases it when the process ends, so no
 * stored process id is needed. On Linux it is a socket in the abstract namespace, named after the folder's device and
 * inode; elsewhere flock. A container with its own network does not see it: there only PostgreSQL's own
 * `postmaster.pid` protects.
 */
export class DataDirLock {
  readonly #ownerFile: string;
  readonly #unlock: () => Promise<void>;

  private constructor(ownerFile: string, unlock: () => Promise<void>) {
    this.#ownerFile = ownerFile;
    this.#unlock = unlock;
  }

  /** Throws DatabaseError with process and folder if another process holds it. */
  static async acquire(dataDir: string): Promise<DataDirLock> {
    const ownerFile = join(dataDir, 'owner.pid');
    const unlock =
      process.platform === 'linux' ? await lockByName(dataDir) : await lockByFile(join(dataDir, 'owner.lock'));
    if (unlock === undefined) {
      const owner = await readFile(ownerFile, 'utf8').catch(() => 'unknown');
      throw new DatabaseError(
        `Another server (process ${owner.trim()}) is using the data folder ${dataDir}; stop it, or choose another folder.`,
      );
    }
    const lock = new DataDirLock(ownerFile, unlock);
    try {
      await writeFile(ownerFile, `${process.pid}\n`);
    } catch (error) {
      await lock.release();
      throw error;
    }
    return lock;
  }

  async release(): Promise<void> {
    await rm(this.#ownerFile, { force: true });
    await this.#unlock();
  }
}

async function lockByName(dataDir: string): Promise<(() => Promise<void>) | undefined> {
  const { dev, ino } = await stat(dataDir, { bigint: true });
  const server = createServer((socket) => socket.destroy());
  server.unref();
  const bound = await new Promise<boolean>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(false) : reject(error),
    );
    server.listen({ path: `\0svc-data-folder-${dev}-${ino}`, exclusive: true }, () => resolve(true));
  });
  return bound ? () => new Promise((resolve) => server.close(() => resolve())) : undefined;
}

async function lockByFile(file: string): Promise<(() => Promise<void>) | undefined> {
  try {
    const handle = await open(
      file,
      constants.O_RDWR | constants.O_CREAT | constants.O_NONBLOCK | exclusiveLockFlag,
      0o600,
    );
    return () => handle.close();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return undefined;
    throw error;
  }
}
