import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { readPluginName } from './read-plugin-name.ts';

/** The folders below `dir` whose manifest has this name. `dir` need not exist. */
export async function findPluginFolders(dir: string, name: string): Promise<string[]> {
  const entries = await readdir(dir).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return [];
  });
  const folders = entries.filter((entry) => !entry.startsWith('.')).map((entry) => join(dir, entry));
  const names = await Promise.all(folders.map(readPluginName));
  return folders.filter((_, i) => names[i] === name);
}
