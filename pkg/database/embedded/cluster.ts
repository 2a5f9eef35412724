import { createHash } from 'node:crypto';
import {
  chmod,
  chown,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { DatabaseError } from '../database-error.ts';
import type { DatabaseLog } from '../log.ts';
import { canEnter } from './account.ts';
import type { Account } from './run-program.ts';
import type { PostgresBinaries } from './postgres-binaries.ts';
import { runProgram } from './run-program.ts';

const pointerFile = 'pgdata-location';
const systemFolder = '/var/lib/svc';

/**
 * Superuser of every cluster created here. Local connections are trusted; the socket's folder decides who can connect.
 */
export const clusterUser = 'svc';

/** Creates the data folder if it is missing and returns its real path. */
export async function prepareDataDir(dataDir: string): Promise<string> {
  const made = await mkdir(dataDir, { recursive: true, mode: 0o700 });
  // PostgreSQL's user must be able to enter it; it still cannot list the folder.
  if (made !== undefined && process.getuid?.() === 0) await chmod(dataDir, 0o711);
  return realpath(dataDir);
}

/**
 * The folder that holds the clusters: the data folder, or, if PostgreSQL's user cannot enter it (for example under
 * /root), a folder under /var/lib/svc. The file `pgdata-location` in the data folder then names that folder
 * permanently.
 */
export async function locateHome(dataDir: string, account: Account | undefined): Promise<string> {
  const pointer = await readFile(join(dataDir, pointerFile), 'utf8').catch(ignoreMissing);
  if (pointer !== undefined) return followPointer(dataDir, pointer.trim());
  const settled = account === undefined || (await listMajors(dataDir)).length > 0;
  if (settled || (await canEnter(dataDir, account))) return dataDir;
  const home = join(systemFolder, createHash('sha256').update(dataDir).digest('hex').slice(0, 16));
  for (const folder of [systemFolder, home]) await makeRootFolder(folder);
  return home;
}

async function followPointer(dataDir: string, home: string): Promise<string> {
  const majors = isAbsolute(home) ? await listMajors(home).catch(ignoreMissing) : undefined;
  if (majors !== undefined && majors.length > 0) return home;
  throw new DatabaseError(
    `The database of ${dataDir} was in ${home} and is not there; bring it back, or remove ${join(dataDir, pointerFile)} to begin with an empty one.`,
  );
}

async function makeRootFolder(folder: string): Promise<void> {
  await mkdir(folder, { mode: 0o755 }).then(() => chmod(folder, 0o755), ignoreExisting);
  const { uid, mode } = await lstat(folder);
  if (uid !== 0 || (mode & 0o022) !== 0)
    throw new DatabaseError(`${folder} must belong to root and be writable by nobody else.`);
}

/** Written only after the cluster exists, so a pointer without a cluster means that the cluster is lost. */
export async function rememberHome(dataDir: string, home: string, log: DatabaseLog): Promise<void> {
  if (home === dataDir) return;
  const pointer = join(dataDir, pointerFile);
  await writeFile(`${pointer}.new`, `${home}\n`);
  await rename(`${pointer}.new`, pointer);
  log.info({ folder: home }, 'the database user cannot enter the data folder; the database is in another folder');
}

/** Major versions with a complete cluster. */
export async function listMajors(home: string): Promise<number[]> {
  const names = await readdir(home);
  return names.flatMap((name) => (/^pgdata-\d+$/.test(name) ? [Number(name.slice('pgdata-'.length))] : []));
}

/**
 * The account of a cluster: its owner, if it exists and this process is root, so that the choice between `postgres` and
 * `nobody` is made once. Throws DatabaseError if this process is not root and another user owns the cluster, or if its
 * user cannot enter the folder.
 */
export async function clusterAccount(
  home: string,
  majors: readonly number[],
  account: Account | undefined,
): Promise<Account | undefined> {
  const newest = majors.toSorted((a, b) => b - a)[0];
  const owner = newest === undefined ? account : await ownerOf(join(home, `pgdata-${newest}`), account);
  if (await canEnter(home, owner)) return owner;
  throw new DatabaseError(
    `The database's user (uid ${owner?.uid ?? process.getuid?.()}) cannot enter ${home}; open the folder with chmod o+x.`,
  );
}

async function ownerOf(pgdata: string, account: Account | undefined): Promise<Account | undefined> {
  const { uid, gid } = await stat(pgdata);
  if (account !== undefined && uid !== 0) return { uid, gid };
  if (account === undefined && uid === process.getuid?.()) return undefined;
  throw new DatabaseError(
    `${pgdata} belongs to uid ${uid}; run as that user, or give the folder to the right one with chown -R.`,
  );
}

export interface EnsureClusterOptions {
  readonly home: string;
  readonly binaries: PostgresBinaries;
  readonly account: Account | undefined;
  /** Whether a new cluster is flushed to disk. */
  readonly sync: boolean;
}

/**
 * The folder of the cluster for these programs; initialised first if it is missing. initdb writes to a draft folder
 * that is then renamed, so a killed initdb leaves no partial cluster.
 */
export async function ensureCluster(options: EnsureClusterOptions): Promise<string> {
  const { home, binaries, account } = options;
  await removeDrafts(home);
  const pgdata = join(home, `pgdata-${binaries.major}`);
  if ((await stat(join(pgdata, 'PG_VERSION')).catch(ignoreMissing)) !== undefined) return pgdata;
  const draft = await mkdtemp(join(home, 'pgdata-draft-'));
  if (account !== undefined) await chown(draft, account.uid, account.gid);
  const args = ['-D', draft, '-U', clusterUser, '--auth-local=trust', '--auth-host=reject', '--locale=C', '-E', 'UTF8'];
  await runProgram(binaries.initdb, options.sync ? args : [...args, '--no-sync'], account);
  await rename(draft, pgdata);
  if (options.sync) await syncFolder(dirname(pgdata));
  return pgdata;
}

async function removeDrafts(home: string): Promise<void> {
  const drafts = (await readdir(home)).filter((name) => name.startsWith('pgdata-draft-'));
  for (const draft of drafts) await rm(join(home, draft), { recursive: true, force: true });
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}
