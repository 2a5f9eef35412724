import { readFileSync } from 'node:fs';

/** Which build this is. */
export interface SvcBuild {
  /** 2.22.0 of a release, 2.22.0+1ebebde0a1b2 of another commit, 2.22.0+1ebebde0a1b2.dirty of none. */
  readonly svcVersion: string;
  /** 40 digits; '' where it is not known. */
  readonly gitCommit: string;
}

let known: SvcBuild | undefined;

/** As `dist/build.json` has it (hack/builds/build-info.mjs), else by package.json: the program may run from its sources. */
export function svcBuild(): SvcBuild {
  known ??= readBuild();
  return known;
}

export function svcVersion(): string {
  return svcBuild().svcVersion;
}

function readBuild(): SvcBuild {
  const { version, commit = '' } = readFirst(['../../build.json', '../../package.json', '../../../package.json']);
  return { svcVersion: version, gitCommit: commit };
}

function readFirst(paths: readonly string[]): { version: string; commit?: string } {
  for (const path of paths) {
    try {
      return JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')) as { version: string; commit?: string };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
  throw new Error('package.json is not where the program expects it');
}
