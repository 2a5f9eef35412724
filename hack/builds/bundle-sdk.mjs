/**
 * Writes the package `@svc/sdk` for programs and plugins in Node.js to `dist/sdk`: one module, its types, and its
 * package.json. `npm run build:sdk` runs it; `npm install ./dist/sdk` installs it, and `npm pack ./dist/sdk` packs it.
 *
 *   node hack/builds/bundle-sdk.mjs [FOLDER]    default of the output: dist/sdk
 */
import { mkdirSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { exportOf, repository, rootManifest, writeManifest, writeTypes } from './write-package.mjs';

const entry = 'pkg/index.ts';

async function bundleSdk(folder) {
  mkdirSync(folder, { recursive: true });
  const { metafile } = await build({
    absWorkingDir: repository,
    entryPoints: { index: entry },
    outdir: resolve(folder),
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    conditions: ['source'],
    // Error messages and stack traces contain names of classes and functions.
    keepNames: true,
    metafile: true,
    plugins: [unusedIsLeftOut],
  });
  writeTypes(folder, 'tsconfig.sdk.json');
  const { dependencies, engines } = rootManifest();
  const imported = new Set(Object.values(metafile.outputs).flatMap(({ imports }) => imports.map(({ path }) => path)));
  writeManifest(folder, {
    name: '@svc/sdk',
    description: 'Models, controllers, endpoints and a client of svc, for programs and plugins in Node.js.',
    engines,
    exports: { '.': exportOf('index.js', entry) },
    dependencies: Object.fromEntries(Object.entries(dependencies).filter(([name]) => imported.has(name))),
  });
}

/** No module of ours, and none that is imported, does anything when it is loaded; packages are installed next to it. */
const unusedIsLeftOut = {
  name: 'unused-is-left-out',
  setup: ({ onResolve, resolve: find }) => {
    onResolve({ filter: /^[^/]/ }, async ({ path, pluginData, kind, ...from }) => {
      if (kind === 'entry-point' || pluginData === unusedIsLeftOut) return undefined;
      if (!/^[.#]/.test(path)) return { path, external: true, sideEffects: false };
      const { importer, resolveDir } = from;
      return { ...(await find(path, { importer, kind, resolveDir, pluginData: unusedIsLeftOut })), sideEffects: false };
    });
  },
};

if (realpathSync(process.argv[1]) === fileURLToPath(import.meta.url))
  await bundleSdk(process.argv[2] ?? join(repository, 'dist/sdk'));
