import { stat } from 'node:fs/promises';
import { normalize } from 'node:path';
import { PluginError } from '../plugin-error.ts';
import { fileWithin } from './file-within.ts';

const defaultMains = ['index.ts', 'index.js', 'index.mjs'] as const;
const reason = 'ManifestInvalid';

/** The plugin's module, relative to its folder. @throws PluginError if it is missing or outside */
export async function findMain(folder: string, main: string | undefined): Promise<string> {
  if (main === undefined) {
    for (const candidate of defaultMains) if (await isFile(folder, candidate)) return candidate;
    throw new PluginError({
      reason,
      message: `there is no module: none of ${defaultMains.join(', ')} is there, and spec.main names no other`,
    });
  }
  if (!/\.(?:ts|mts|js|mjs)$/.test(main))
    throw new PluginError({ reason, message: `spec.main must name a module (.ts, .mts, .js or .mjs), not ${main}` });
  if (!(await isFile(folder, main)))
    throw new PluginError({ reason, message: `spec.main names ${main}, which is not there` });
  return normalize(main);
}

async function isFile(folder: string, path: string): Promise<boolean> {
  const real = await fileWithin(folder, path, reason);
  return real !== undefined && (await stat(real)).isFile();
}
