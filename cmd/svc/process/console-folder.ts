import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Where a build of the console is, if there is one: next to package.json, for the sources and for `dist`. */
export function consoleFolder(): string {
  const [sources, built] = ['../../../', '../../../../'] as const;
  const root = existsSync(new URL(`${sources}package.json`, import.meta.url)) ? sources : built;
  return fileURLToPath(new URL(`${root}console/dist`, import.meta.url));
}
