import { basename, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'esbuild';
import { bareImport, isBuiltin } from '../bundle/own-packages.ts';
import { runEsbuild } from '../bundle/run-esbuild.ts';

/** `.ts` if this process runs from the sources, `.js` if it runs from the build. */
const extension = extname(fileURLToPath(import.meta.url));
const webclient = fileURLToPath(new URL('../../webclient/', import.meta.url));

/** What a page may import of it, and the file of the bundle that has it. */
export const clientEntries: Readonly<Record<string, string>> = {
  '@svc/client': 'index.js',
  '@svc/client/page': 'page.js',
  '@svc/client/react': 'react.js',
};

let made: Promise<ReadonlyMap<string, string>> | undefined;

/**
 * `@svc/client` for pages, as a few files by name: reading its hundreds of modules for each build would take most of
 * the time. They import each other, and React. Bundled once per process.
 */
export function bundleClient(): Promise<ReadonlyMap<string, string>> {
  made ??= makeClient().catch((error: unknown) => {
    made = undefined;
    throw error;
  });
  return made;
}

async function makeClient(): Promise<ReadonlyMap<string, string>> {
  const { outputFiles } = await runEsbuild({
    entryPoints: {
      index: join(webclient, `index${extension}`),
      page: join(webclient, `page/index${extension}`),
      react: join(webclient, `react/index${extension}`),
    },
    outdir: webclient,
    splitting: true,
    platform: 'browser',
    target: 'es2022',
    conditions: extension === '.ts' ? ['source'] : [],
    plugins: [unusedIsLeftOut],
  });
  return new Map(outputFiles.map(({ path, text }) => [basename(path), text]));
}

const resolving = Symbol('resolving');

/** Our modules do nothing when they are loaded; only those that are left out need Node.js, or a library. */
const unusedIsLeftOut: Plugin = {
  name: 'unused-is-left-out',
  setup: (build) => {
    build.onResolve({ filter: /.*/ }, async ({ path, importer, kind, namespace, resolveDir, pluginData }) => {
      if (pluginData === resolving || kind === 'entry-point') return undefined;
      if (isBuiltin(path) || bareImport.test(path)) return { path, external: true, sideEffects: false };
      const result = await build.resolve(path, { importer, kind, namespace, resolveDir, pluginData: resolving });
      return { ...result, sideEffects: false };
    });
  },
};
