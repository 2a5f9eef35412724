/**
 * Writes the package `@svc/client` for front ends to `dist/client`: one module for browsers, workers and Node.js without
 * any dependency, its types, and its package.json. `npm run build:client` runs it; `npm install ./dist/client` installs
 * it, and `npm pack ./dist/client` packs it.
 *
 *   node hack/builds/bundle-client.mjs [FOLDER]    default of the output: dist/client
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const repository = fileURLToPath(new URL('../..', import.meta.url));
const entry = "export * from './pkg/webclient/index.ts';";

/**
 * The text of a module with these exports of the sources, and what they need. Nothing that it imports does anything when
 * it is loaded, so that what is not used is left out. @throws Error if something is left that browsers do not have
 */
export async function clientModule(contents = entry, { minify = false } = {}) {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: repository, loader: 'ts' },
    bundle: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    conditions: ['source'],
    minify,
    write: false,
    plugins: [pureModules],
  });
  const { text } = outputFiles[0];
  const left = /\bfrom ?"(node:[^"]+)"/.exec(text);
  if (left !== null) throw new Error(`@svc/client would import ${left[1]}, which browsers do not have`);
  return text;
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
  writeFileSync(join(folder, 'index.js'), await clientModule());
  const compiler = createRequire(import.meta.url).resolve('typescript/package.json');
  const { bin } = JSON.parse(readFileSync(compiler, 'utf8'));
  execFileSync(
    process.execPath,
    [join(dirname(compiler), bin.tsc), '-p', 'tsconfig.client.json', '--outDir', join(folder, 'types')],
    { cwd: repository, stdio: 'inherit' },
  );
  const { version, license } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'));
  const types = './types/pkg/webclient/index.d.ts';
  const description = 'The API of svc for front ends: objects, lists that stay up to date, edits that merge.';
  writeFileSync(
    join(folder, 'package.json'),
    `${JSON.stringify(
      {
        name: '@svc/client',
        version,
        description,
        license,
        type: 'module',
        sideEffects: false,
        exports: { '.': { types, default: './index.js' } },
        imports: { '#pkg/*': './types/pkg/*.d.ts' },
      },
      undefined,
      2,
    )}\n`,
  );
}

if (realpathSync(process.argv[1]) === fileURLToPath(import.meta.url))
  await bundleClient(process.argv[2] ?? join(repository, 'dist/client'));
