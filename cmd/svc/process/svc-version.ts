import { readFileSync } from 'node:fs';

/** The version of this build. */
export interface SvcBuild {
  /**
   * 2.22.0 for a release, 2.22.0+1ebebde0a1b2 for another commit, 2.22.0+1ebebde0a1b2.dirty with uncommitted changes.
   */
  readonly svcVersion: string;
  /** 40 digits; '' if unknown. */
  readonly gitCommit: string;
}

let known: SvcBuild | undefined;

/**
 * From `dist/build.json` (hack/builds/build-info.mjs); when run from the sources, from BUILD_VERSION and BUILD_COMMIT
 * (`npm run dev`), else from package.json.
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
