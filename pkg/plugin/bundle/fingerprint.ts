import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';

/** Of the files' contents, in any order of the paths; one that cannot be read counts as such. */
export async function fingerprintOf(files: readonly string[]): Promise<string> {
  const digests = new Map<string, string>();
  for (const file of files) digests.set(file, fileDigest(await readFile(file).catch(() => undefined)));
  return fingerprintFrom(digests);
}

export function fileDigest(content: Uint8Array | undefined): string {
  return content === undefined ? 'absent' : createHash('sha256').update(content).digest('hex');
}

/** Takes the digests by path. */
export function fingerprintFrom(digests: ReadonlyMap<string, string>): string {
  return fileDigest(Buffer.from(JSON.stringify([...digests].toSorted(([a], [b]) => (a < b ? -1 : 1)))));
}
