import { execFile } from 'node:child_process';
import { mkdir, readdir, rm, stat, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A small disk in memory, which can be filled. */
export class SmallDisk {
  readonly folder: string;

  /** Undefined if this machine does not permit it. `size` is mount's: `320m`. */
  static async mount(folder: string, size: string): Promise<SmallDisk | undefined> {
    try {
      await mkdir(folder);
      await run('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=0755`, 'small', folder]);
    } catch {
      return undefined;
    }
    await mkdir(join(folder, 'filler'));
    return new SmallDisk(folder);
  }

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** A folder on it that belongs to the user of this PostgreSQL's data, for a tablespace. */
  async tablespaceFolder(pgdata: string): Promise<string> {
    const { uid, gid } = await stat(pgdata);
    const folder = join(this.folder, 'tables');
    await run('install', ['-d', '-m', '0700', '-o', String(uid), '-g', String(gid), folder]);
    return folder;
  }

  /** Leaves no free byte. */
  async fill(): Promise<void> {
    const { bavail, bsize } = await statfs(this.folder);
    const piece = Buffer.alloc(1 << 20);
    for (let left = bavail * bsize, i = 0; left > 0; left -= piece.length, i += 1) {
      await writeFile(join(this.folder, 'filler', String(i)), piece.subarray(0, Math.min(left, piece.length))).catch(
        () => undefined,
      );
    }
  }

  /** Removes what `fill` has written. */
  async free(): Promise<void> {
    const filler = join(this.folder, 'filler');
    for (const name of await readdir(filler)) await rm(join(filler, name));
  }

  /** Makes it larger; `size` is mount's. */
  async enlarge(size: string): Promise<void> {
    await run('mount', ['-o', `remount,size=${size}`, this.folder]);
  }

  async unmount(): Promise<void> {
    await run('umount', [this.folder]);
  }
}
