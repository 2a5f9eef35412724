import { createHash } from 'node:crypto';
import { lstat, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { PluginError } from '../../plugin-error.ts';

/** Limits of a plugin's own files; a larger folder is not a plugin. */
const limits = { files: 5000, depth: 12 };

export interface FolderFingerprint {
  /** Changes whenever a file is added, removed or written. */
  readonly text: string;
  /** The last change of anything in it, by the clock of the file system. Milliseconds since 1970. */
  readonly changed: number;
}

/**
 * Detects changes of a folder's files by their names, sizes and times. Skips `node_modules`, names that begin with a
 * dot, and folders behind links.
 * @throws PluginError FolderTooLarge; the system's error if the folder cannot be read
 */
export async function fingerprintFolder(folder: string): Promise<FolderFingerprint> {
  const hash = createHash('sha256');
  let files = 0;
  let changed = 0;
  const walk = async (path: string, within: string, depth: number): Promise<void> => {
    const entries = await readdir(path, { withFileTypes: true });
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const { name } = entry;
      if (name.startsWith('.') || name === 'node_modules') continue;
      files += 1;
      if (files > limits.files || depth > limits.depth)
        throw new PluginError({
          reason: 'FolderTooLarge',
          message: `the folder has more than ${limits.files} files, or they lie deeper than ${limits.depth} folders`,
        });
      const inner = `${within}/${name}`;
      // A dangling link counts as a file.
      const { size, mtimeMs, ctimeMs } = await stat(join(path, name)).catch(() => lstat(join(path, name)));
      changed = Math.max(changed, ctimeMs);
      if (entry.isDirectory()) await walk(join(path, name), inner, depth + 1);
      else hash.update(JSON.stringify([inner, size, mtimeMs, ctimeMs]));
    }
  };
  const { ctimeMs } = await stat(folder);
  changed = ctimeMs;
  await walk(folder, '', 1);
  return { text: hash.digest('base64url'), changed };
}
