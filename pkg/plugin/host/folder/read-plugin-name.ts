import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeYaml, isJsonObject } from '#pkg/apimachinery/index';
import { pluginNameProblem } from '../../manifest/check-spec.ts';
import { readFileWithin } from '../../manifest/file-within.ts';
import { manifestFile } from '../../manifest/manifest.ts';

/** Matches the name in usual formatting. */
const metadataName =
  /^[\s{,]{0,100}["']?metadata["']?[ \t]{0,100}:[\s{]{0,100}["']?name["']?[ \t]{0,100}:[ \t]{0,100}["']?([a-z0-9][a-z0-9.-]{0,62})\b/m;

/** The name in an invalid manifest, so that its problem can be reported on that plugin. Never rejects. */
export async function readPluginName(folder: string): Promise<string | undefined> {
  try {
    const bytes = await readFileWithin(folder, manifestFile, { reason: 'ManifestInvalid', maxBytes: 64 * 1024 });
    const name = bytes === undefined ? undefined : nameIn(bytes);
    return typeof name === 'string' && pluginNameProblem(name) === undefined ? name : undefined;
  } catch {
    // No name; the unreadable manifest is already reported.
    return undefined;
  }
}

function nameIn(bytes: Buffer): unknown {
  try {
    const { value } = decodeYaml(bytes);
    const metadata = isJsonObject(value) ? value['metadata'] : undefined;
    return isJsonObject(metadata) ? metadata['name'] : undefined;
  } catch {
    // Not YAML, or YAML that cannot be converted to JSON.
    return metadataName.exec(bytes.toString())?.[1];
  }
}

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
