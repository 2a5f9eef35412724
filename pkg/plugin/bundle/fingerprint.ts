import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';

/** The fingerprint of the files' contents, independent of the order of the paths; an unreadable file counts as such. */
export async function fingerprintOf(files: readonly string[]): Promise<string> {
  const digests = new Map<string, string>();
  for (const file of files) digests.set(file, fileDigest(await readFile(file).catch(() => undefined)));
  return fingerprintFrom(digests);
}

export function fileDigest(content: Uint8Array | undefined): string {
  return content === undefined ? 'absent' : createHash('sha256').update(content).digest('hex');
}

/** Computes the fingerprint from digests by path. */
export function fingerprintFrom(digests: ReadonlyMap<string, string>): string {
  return fileDigest(Buffer.from(JSON.stringify([...digests].toSorted(([a], [b]) => (a < b ? -1 : 1)))));
}
