import { randomUUID } from 'node:crypto';
import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  type Stats,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { SecretKeyError } from './secret-error.ts';
import { SecretKey } from './secret-key.ts';

const maxBytes = 65_536;
const draftSuffix = /^\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * A file of keys, one per line, the first is the primary one. Calls block: the file is small, and read only at startup
 * and after a change.
 *
 * Its group may read it, as orchestrators mount secrets this way; a file that others can read, or the group can write,
 * is refused.
 */
export class KeyFile {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /**
   * Undefined if there is no file. Throws SecretKeyError, without the file's content, for a file that cannot be used.
   */
  read(): SecretKey[] | undefined {
    const text = this.#readText();
    if (text === undefined) return undefined;
    const lines = text.split('\n').map((line) => line.trim());
    const keys = lines.flatMap((line, index) => (line === '' ? [] : [this.#parse(line, index)]));
    if (keys.length === 0) throw new SecretKeyError(`${this.path} holds no key; restore the right file.`);
    return keys;
  }

  /** Changes with the file or its content; undefined if there is no file. */
  version(): string | undefined {
    const stats = statSync(this.path, { bigint: true, throwIfNoEntry: false });
    return stats === undefined ? undefined : `${stats.dev}/${stats.ino}/${stats.size}/${stats.mtimeNs}`;
  }

  /**
   * Creates the file with one new key, for this user only, unless it exists. Safe for concurrent processes: only one
   * creates it.
   */
  create(): void {
    mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 });
    const draft = writeDraft(this.path, [SecretKey.generate()]);
    try {
      // Unlike a rename, a link never replaces a file.
      linkSync(draft, this.path);
    } catch (error) {
      if (statSync(this.path, { throwIfNoEntry: false }) === undefined) throw error;
    } finally {
      rmSync(draft, { force: true });
    }
    syncFolder(dirname(this.path));
  }

  /** Atomic; keeps owner and mode. The caller prevents concurrent replacements. */
  replace(keys: readonly SecretKey[]): void {
    // Keeps a symbolic link.
    const path = realpathSync(this.path);
    removeDrafts(path);
    const draft = writeDraft(path, keys, statSync(path));
    try {
      renameSync(draft, path);
    } catch (error) {
      rmSync(draft, { force: true });
      throw error;
    }
    syncFolder(dirname(path));
  }

  /**
   * The error code with which `replace` fails, for example EROFS for a file mounted by an orchestrator; undefined if it
   * works. Tries it with the current keys, as neither permissions nor file type are a sure sign.
   */
  obstacle(held: readonly SecretKey[]): string | undefined {
    try {
      this.replace(held);
      return undefined;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === undefined) throw error;
      return code;
    }
  }

  #parse(line: string, index: number): SecretKey {
    const key = SecretKey.parse(line);
    if (key === undefined)
      throw new SecretKeyError(
        `Line ${index + 1} of ${this.path} is not a key: that is 64 hexadecimal digits, a line for each key.`,
      );
    return key;
  }

  #readText(): string | undefined {
    let file: number;
    try {
      // Non-blocking, as opening a pipe without a writer would block the process.
      file = openSync(this.path, constants.O_RDONLY | constants.O_NONBLOCK);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') return undefined;
      throw new SecretKeyError(`The key file ${this.path} cannot be read (${code}).`, { cause: error });
    }
    try {
      this.#checkStats(fstatSync(file));
      return readFileSync(file, 'latin1');
    } finally {
      closeSync(file);
    }
  }

  #checkStats(stats: Stats): void {
    if (!stats.isFile() || stats.size > maxBytes) throw new SecretKeyError(`${this.path} is no file of keys.`);
    if ((stats.mode & 0o027) !== 0) {
      const mode = (stats.mode & 0o777).toString(8).padStart(4, '0');
      throw new SecretKeyError(
        `The key file ${this.path} is open to others (mode ${mode}); make it 0600, or 0640 where its group must read it.`,
      );
    }
  }
}

function writeDraft(path: string, keys: readonly SecretKey[], like?: Stats): string {
  const draft = `${path}.${randomUUID()}`;
  const file = openSync(draft, 'wx', 0o600);
  try {
    writeFileSync(file, keys.map((key) => `${key.reveal()}\n`).join(''));
    if (like !== undefined) {
      fchownSync(file, like.uid, like.gid);
      fchmodSync(file, like.mode & 0o777);
    }
    fsyncSync(file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
  return draft;
}

/** Deletes temporary files of killed processes. */
function removeDrafts(path: string): void {
  const name = basename(path);
  const drafts = readdirSync(dirname(path)).filter(
    (each) => each.startsWith(name) && draftSuffix.test(each.slice(name.length)),
  );
  for (const draft of drafts) rmSync(join(dirname(path), draft), { force: true });
}

function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
