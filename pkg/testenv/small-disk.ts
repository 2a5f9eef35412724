import { execFile } from 'node:child_process';
import { chmod, mkdtemp, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const bytesPerMib = 1024 * 1024;

/** A file system in memory that a test can fill, to test a full disk. */
export class SmallDisk {
  readonly folder: string;

  /** Whether one can be mounted: needs root on Linux. Prints a warning if not. */
  static async isPossible(): Promise<boolean> {
    try {
      await (await SmallDisk.mount(1)).unmount();
      return true;
    } catch (error) {
      process.stderr.write(
        `WARNING: no file system can be mounted here, so tests of a full disk are skipped: ${(error as Error).message}\n`,
      );
      return false;
    }
  }

  static async mount(mebibytes: number): Promise<SmallDisk> {
    const folder = await mkdtemp('/tmp/svc-disk-');
    try {
      await run('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', folder]);
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
    await chmod(folder, 0o777);
    return new SmallDisk(folder);
  }

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** Fills it up to `leftMib` of free space. */
  async fill(leftMib = 0): Promise<void> {
    const file = await open(this.#filler, 'w');
    const block = Buffer.alloc(bytesPerMib);
    try {
      for (let size = bytesPerMib; size >= 4096; size = Math.floor(size / 16))
        await writeWhileRoom(() => file.write(block, 0, size));
      const { size } = await file.stat();
      if (leftMib > 0) await file.truncate(Math.max(0, size - leftMib * bytesPerMib));
    } finally {
      await file.close();
    }
  }

  /** Frees what `fill` has taken. */
  async free(): Promise<void> {
    await rm(this.#filler, { force: true });
  }

  /** Unmounts it; nothing may use it any more. */
  async unmount(): Promise<void> {
    await run('umount', [this.folder]);
    await rm(this.folder, { recursive: true, force: true });
  }

  get #filler(): string {
    return join(this.folder, 'filler');
  }
}

async function writeWhileRoom(write: () => Promise<unknown>): Promise<void> {
  try {
    for (;;) await write();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}
