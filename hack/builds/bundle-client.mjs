/**
 * Writes the package `@svc/client` for front ends to `dist/client`: modules for browsers, workers and Node.js without
 * any dependency but that of the hooks of React, `@svc/client/react`, of a worker, `@svc/client/worker`, and of pages of
 * plugins, `@svc/client/page`; their types, and a package.json. `npm run build:client` runs it;
 * `npm install ./dist/client` installs it, and `npm pack ./dist/client` packs it.
 *
 *   node hack/builds/bundle-client.mjs [FOLDER]    default of the output: dist/client
 */
import { mkdirSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { exportOf, repository, writeManifest, writeTypes } from './write-package.mjs';

/** By their names in the package. */
const entries = {
  index: 'pkg/webclient/index.ts',
  react: 'pkg/webclient/react/index.ts',
  worker: 'pkg/webclient/worker/index.ts',
  page: 'pkg/webclient/page/index.ts',
};

/**
 * The text of a module with these exports of the sources, and what they need, except React. Nothing that it imports does
 * anything when it is loaded, so that what is not used is left out.
 * @throws Error if something is left that browsers do not have
 */
export async function clientModule(contents, { minify = false } = {}) {
  const [module] = await buildForBrowsers({
    stdin: { contents, resolveDir: repository, loader: 'ts' },
    external: ['react'],
    minify,
  });
  return module.text;
}

/** What esbuild makes of our sources. @throws Error if one needs what browsers do not have */
export async function buildForBrowsers({ plugins = [], ...options }) {
  const { outputFiles } = await build({
    bundle: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    conditions: ['source'],
    write: false,
    absWorkingDir: repository,
    plugins: [pureModules, ...plugins],
    ...options,
  });
  for (const { path, text } of outputFiles) {
    const left = /\bfrom ?"(node:[^"]+)"/.exec(text);
    if (left !== null) throw new Error(`${path} would import ${left[1]}, which browsers do not have`);
  }
  return outputFiles;
}

const pureModules = {
  name: 'pure-modules',
  setup: ({ onResolve, resolve }) => {
    onResolve({ filter: /^node:/ }, ({ path }) => ({ path, external: true, sideEffects: false }));
    onResolve({ filter: /^[#.]/ }, async ({ path, pluginData, ...from }) => {
      if (pluginData === pureModules) return undefined;
      const { importer, kind, resolveDir } = from;
      return { ...(await resolve(path, { importer, kind, resolveDir, pluginData: pureModules })), sideEffects: false };
    });
  },
};

async function bundleClient(folder) {
  mkdirSync(folder, { recursive: true });
  // All entry points share the modules behind them: a page that loads two has each class once.
  const modules = await buildForBrowsers({
    entryPoints: entries,
    outdir: folder,
    splitting: true,
    chunkNames: 'shared-[hash]',
    external: ['react'],
  });
  for (const name of readdirSync(folder)) if (/^shared-\w+\.js$/.test(name)) rmSync(join(folder, name));
  for (const { path, text } of modules) writeFileSync(path, text);
  writeTypes(folder, 'tsconfig.client.json');
  writeManifest(folder, {
    name: '@svc/client',
    description: 'The API of svc for front ends: objects, lists that stay up to date, edits that merge.',
    exports: {
      '.': exportOf('index.js', entries.index),
      './react': exportOf('react.js', entries.react),
      './worker': exportOf('worker.js', entries.worker),
      './page': exportOf('page.js', entries.page),
    },
    peerDependencies: { react: '^18.0.0 || ^19.0.0' },
    peerDependenciesMeta: { react: { optional: true } },
  });
}

if (realpathSync(process.argv[1]) === fileURLToPath(import.meta.url))
  await bundleClient(process.argv[2] ?? join(repository, 'dist/client'));
