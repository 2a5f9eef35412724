/**
 * Packages of hundreds of modules, each as one file. Jest links every module anew for every test file, and most test
 * files load these: as they are published, they take a quarter of the processor time until the first test begins.
 */
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync, version as esbuildVersion } from 'esbuild';

const root = fileURLToPath(new URL('../..', import.meta.url));
const names = ['kysely', 'typebox'];

/** From the name of a package to its file, which need not be there yet. */
export const bundledPackages = new Map(
  names.map((name) => [
    name,
    join(root, 'node_modules/.cache/svc-jest', `${name}-${versionOf(name)}-${esbuildVersion}.mjs`),
  ]),
);

/** Makes the files that are missing. Runs at the same time do not disturb each other. */
export function bundlePackages() {
  for (const [name, file] of bundledPackages) {
    if (existsSync(file)) continue;
    mkdirSync(join(file, '..'), { recursive: true });
    const unfinished = `${file}.${process.pid}`;
    buildSync({
      stdin: { contents: `export * from '${name}';`, resolveDir: root },
      bundle: true,
      platform: 'node',
      format: 'esm',
      target: 'node20',
      outfile: unfinished,
    });
    renameSync(unfinished, file);
  }
}

function versionOf(name) {
  return JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8')).version;
}
