import { decodeYaml, isJsonObject } from '#pkg/apimachinery/index';
import { pluginNameProblem } from '../manifest/check-spec.ts';
import { readFileWithin } from '../manifest/file-within.ts';
import { manifestFile } from '../manifest/manifest.ts';

/** Where it is written as people write it. */
const metadataName =
  /^[\s{,]{0,100}["']?metadata["']?[ \t]{0,100}:[\s{]{0,100}["']?name["']?[ \t]{0,100}:[ \t]{0,100}["']?([a-z0-9][a-z0-9.-]{0,62})\b/m;

/** The name in a manifest that is not valid otherwise, so that the plugin can be told of by it. Never rejects. */
export async function readPluginName(folder: string): Promise<string | undefined> {
  try {
    const bytes = await readFileWithin(folder, manifestFile, { reason: 'ManifestInvalid', maxBytes: 64 * 1024 });
    const name = bytes === undefined ? undefined : nameIn(bytes);
    return typeof name === 'string' && pluginNameProblem(name) === undefined ? name : undefined;
  } catch {
    // Then it has none; why the manifest cannot be read is told already.
    return undefined;
  }
}

function nameIn(bytes: Buffer): unknown {
  try {
    const { value } = decodeYaml(bytes);
    const metadata = isJsonObject(value) ? value['metadata'] : undefined;
    return isJsonObject(metadata) ? metadata['name'] : undefined;
  } catch {
    // It is no YAML, or none that can be kept.
    return metadataName.exec(bytes.toString())?.[1];
  }
}
