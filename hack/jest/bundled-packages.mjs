/**
 * Packages with hundreds of modules, bundled into one file each. Jest links every module again for every test file, and
 * most test files load these packages: unbundled, they take a quarter of the processor time until the first test
 * starts.
 */
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync, version as esbuildVersion } from 'esbuild';

const root = fileURLToPath(new URL('../..', import.meta.url));
const names = ['kysely', 'typebox'];

/** Package names with their files, which need not exist yet. */
export const bundledPackages = new Map(
  names.map((name) => [
    name,
    join(root, 'node_modules/.cache/svc-jest', `${name}-${versionOf(name)}-${esbuildVersion}.mjs`),
  ]),
);

/** Creates the missing files. Safe for concurrent runs. */
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
