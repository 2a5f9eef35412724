import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { isAbsolute, join, relative, sep } from 'node:path';
import { PluginError } from '../plugin-error.ts';

/** Limits of a plugin's file; `reason` is that of the PluginError. */
export interface FileRules {
  reason: string;
  /** Bytes. */
  maxBytes: number;
}

/**
 * The contents of a file within `folder`, or undefined if it does not exist.
 * @throws PluginError if it is not a regular file, is larger than `maxBytes`, is unreadable, or is outside: by `..` or
 * a symbolic link
 */
export async function readFileWithin(
  folder: string,
  path: string,
  { reason, maxBytes }: FileRules,
): Promise<Buffer | undefined> {
  const real = await fileWithin(folder, path, reason);
  if (real === undefined) return undefined;
  // Without O_NONBLOCK opening a pipe would block.
  const file = await open(real, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
    throw new PluginError({ reason, message: `${path} cannot be read: ${codeOf(error)}`, cause: error });
  });
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw new PluginError({ reason, message: `${path} is no regular file` });
    if (stats.size > maxBytes) throw new PluginError({ reason, message: `${path} is larger than ${maxBytes} bytes` });
    // Reads no more than this, because the file may still grow.
    const bytes = Buffer.alloc(stats.size);
    const { bytesRead } = await file.read(bytes, 0, stats.size, 0);
    return bytes.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/**
 * The real path of a file or folder within `folder`, or undefined if it does not exist. @throws PluginError if it is
 * outside
 */
export async function fileWithin(folder: string, path: string, reason: string): Promise<string | undefined> {
  if (isAbsolute(path) || path.split(/[/\\]/).includes('..') || path.includes('\0'))
    throw new PluginError({ reason, message: `${path} leads out of the plugin's folder` });
  const [root, real] = await Promise.all([realPathOf(folder, reason), realPathOf(join(folder, path), reason)]);
  if (root === undefined) throw new PluginError({ reason, message: `the folder ${folder} is not there` });
  if (real !== undefined && !isWithin(root, real))
    throw new PluginError({ reason, message: `${path} is a symbolic link that leads out of the plugin's folder` });
  return real;
}

/** Both must be real paths. */
export function isWithin(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

async function realPathOf(path: string, reason: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new PluginError({ reason, message: `${path} cannot be read: ${code}`, cause: error });
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'unknown';
}
