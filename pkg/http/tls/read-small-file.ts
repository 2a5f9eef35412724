import { open } from 'node:fs/promises';

/**
 * The text of a file, or undefined if it has more than `maxBytes`: the path may lead to something without an end.
 * Throws the system's error.
 */
export async function readSmallFile(file: string, maxBytes: number): Promise<string | undefined> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(maxBytes + 1), 0, maxBytes + 1, 0);
    return bytesRead > maxBytes ? undefined : buffer.toString('utf8', 0, bytesRead);
  } finally {
    await handle.close();
  }
}
