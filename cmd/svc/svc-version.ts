import { readFileSync } from 'node:fs';

/** The product's version, from package.json; the program may run from its sources or from `dist`. */
export function svcVersion(): string {
  for (const path of ['../../package.json', '../../../package.json']) {
    try {
      return (JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')) as { version: string }).version;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
  throw new Error('package.json is not where the program expects it');
}
