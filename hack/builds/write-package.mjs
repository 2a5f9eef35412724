/** What bundle-client.mjs and bundle-sdk.mjs have in common: the types of a package, and its package.json. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const repository = fileURLToPath(new URL('../..', import.meta.url));

/** Writes the types of a tsconfig's sources to `types` in the folder. @throws Error of the compiler, which has printed it */
export function writeTypes(folder, project) {
  const compiler = createRequire(import.meta.url).resolve('typescript/package.json');
  const { bin } = JSON.parse(readFileSync(compiler, 'utf8'));
  execFileSync(process.execPath, [join(dirname(compiler), bin.tsc), '-p', project, '--outDir', join(folder, 'types')], {
    cwd: repository,
    stdio: 'inherit',
  });
}

/** The text of the repository's package.json. */
export function rootManifest() {
  return JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'));
}

/** Writes package.json, with what all packages have. */
export function writeManifest(folder, { name, description, ...facts }) {
  const { version, license } = rootManifest();
  const manifest = {
    name,
    version,
    description,
    license,
    type: 'module',
    sideEffects: false,
    ...facts,
    imports: { '#pkg/*': './types/pkg/*.d.ts' },
  };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
}

/** The entry point of a package's `exports`: its module, and the types of the source that it is made of. */
export function exportOf(module, source) {
  return { types: `./types/${source.replace(/ts$/, 'd.ts')}`, default: `./${module}` };
}
