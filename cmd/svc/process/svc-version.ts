import { readFileSync } from 'node:fs';

/** Which build this is. */
export interface SvcBuild {
  /** 2.22.0 of a release, 2.22.0+1ebebde0a1b2 of another commit, 2.22.0+1ebebde0a1b2.dirty of none. */
  readonly svcVersion: string;
  /** 40 digits; '' where it is not known. */
  readonly gitCommit: string;
}

let known: SvcBuild | undefined;

/**
 * As `dist/build.json` has it (hack/builds/build-info.mjs); from the sources as BUILD_VERSION and BUILD_COMMIT say
 * (`npm run dev`), else by package.json.
 */
export function svcBuild(): SvcBuild {
  known ??= readBuild();
  return known;
}

export function svcVersion(): string {
  return svcBuild().svcVersion;
}

function readBuild(): SvcBuild {
  const { version, commit = '' } =
    read('../../../build.json') ??
    told() ??
    read('../../../package.json') ??
    read('../../../../package.json') ??
    nowhere();
  return { svcVersion: version, gitCommit: commit };
}

interface BuildFile {
  version: string;
  commit?: string | undefined;
}

function told(): BuildFile | undefined {
  const { BUILD_VERSION: version, BUILD_COMMIT: commit } = process.env;
  return version === undefined || version === '' ? undefined : { version, commit };
}

function read(path: string): BuildFile | undefined {
  try {
    return JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')) as BuildFile;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function nowhere(): never {
  throw new Error('package.json is not where the program expects it');
}
