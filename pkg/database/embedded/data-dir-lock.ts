import { constants } from 'node:fs';
import { open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseError } from '../database-error.ts';

/** BSD and macOS: take an exclusive flock while opening; Node's constants lack it. */
const O_EXLOCK = 0x20;

/**
 * Keeps a second server off a data folder. The kernel holds the lock and drops it with the process, however that ends,
 * so no process id has to be trusted: on Linux a socket in the abstract namespace, named after the folder's device and
 * inode; elsewhere flock. Not seen by another container with a network of its own: there PostgreSQL's own
 * `postmaster.pid` is the only guard.
 */
export class DataDirLock {
  readonly #ownerFile: string;
  readonly #unlock: () => Promise<void>;

  private constructor(ownerFile: string, unlock: () => Promise<void>) {
    this.#ownerFile = ownerFile;
    this.#unlock = unlock;
  }

  /** Throws DatabaseError, naming process and folder, when another process holds it. */
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
    const handle = await open(file, constants.O_RDWR | constants.O_CREAT | constants.O_NONBLOCK | O_EXLOCK, 0o600);
    return () => handle.close();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return undefined;
    throw error;
  }
}
