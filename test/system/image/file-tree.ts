import { createHash } from 'node:crypto';
import { lstat, readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';

export interface TreeEntry {
  /** Relative to the root, without a leading slash. */
  readonly path: string;
  readonly kind: 'file' | 'folder' | 'link' | 'other';
  /** Permissions, as four octal digits. */
  readonly mode: string;
  readonly uid: number;
  readonly gid: number;
}

/** All entries below a folder; does not follow links. */
export async function listTree(root: string, folder = ''): Promise<TreeEntry[]> {
  const entries: TreeEntry[] = [];
  for (const name of (await readdir(join(root, folder))).toSorted()) {
    const path = join(folder, name);
    const stats = await lstat(join(root, path));
    const kind = stats.isFile() ? 'file' : stats.isDirectory() ? 'folder' : stats.isSymbolicLink() ? 'link' : 'other';
    entries.push({
      path,
      kind,
      mode: (stats.mode & 0o7777).toString(8).padStart(4, '0'),
      uid: stats.uid,
      gid: stats.gid,
    });
    if (kind === 'folder') entries.push(...(await listTree(root, path)));
  }
  return entries;
}

/** One line for each entry: kind, owner, and digest of the content. Equal lines mean equal trees. */
export async function digestTree(root: string): Promise<string[]> {
  const lines: string[] = [];
  for (const { path, kind, mode, uid, gid } of await listTree(root)) {
    const content =
      kind === 'file'
        ? createHash('sha256')
            .update(await readFile(join(root, path)))
            .digest('hex')
        : kind === 'link'
          ? await readlink(join(root, path))
          : '';
    lines.push(`${path} ${kind} ${mode} ${uid}:${gid} ${content}`);
  }
  return lines;
}
