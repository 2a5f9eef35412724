import { readdir } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Loader, Plugin } from 'esbuild';
import { bareImport, isBuiltin, ownPackages } from '../bundle/own-packages.ts';
import { runEsbuild, textLoaders } from '../bundle/run-esbuild.ts';
import { fileWithin, readFileWithin } from '../manifest/file-within.ts';
import { PluginError } from '../plugin-error.ts';

const pagesFolder = 'pages';
const entryForm = /^([a-z0-9][a-z0-9-]{0,62})\.(?:tsx|ts|jsx|js)$/;
const reason = 'PagesInvalid';
const maxPages = 50;
/** `.ts` if this process runs from the sources, `.js` if it runs from the build. */
const extension = extname(fileURLToPath(import.meta.url));

/** What a page imports becomes a part of its script: texts, and pictures as data. */
const pageLoaders = {
  ...textLoaders,
  '.gif': 'dataurl',
  '.jpg': 'dataurl',
  '.png': 'dataurl',
  '.svg': 'dataurl',
  '.webp': 'dataurl',
} as const satisfies Record<string, Loader>;

/**
 * Builds the scripts of `pages/`: of `board.tsx` become `board.js`, `board.css` if it imports styles, and `board.html`,
 * unless the folder has a page of that name. `@svc/client` is the server's. What begins with a dot, and tests, are no
 * pages.
 * @throws PluginError `BundleFailed` that names file, line and column
 */
export async function bundlePages(folder: string): Promise<Map<string, Buffer>> {
  const made = new Map<string, Buffer>();
  const entries = await pageEntries(folder);
  if (entries.length === 0) return made;
  const { outputFiles } = await runEsbuild({
    absWorkingDir: folder,
    entryPoints: entries.map((name) => join(folder, pagesFolder, name)),
    outdir: join(folder, 'built'),
    // Not a module: a browser would ask for it with the credentials that an isolated page does not have.
    format: 'iife',
    platform: 'browser',
    target: 'es2022',
    jsx: 'automatic',
    minify: true,
    conditions: extension === '.ts' ? ['source'] : [],
    loader: pageLoaders,
    define: { 'process.env.NODE_ENV': '"production"' },
    plugins: [clientOfHost(folder), ownPackages(folder, '')],
  });
  for (const { path, contents } of outputFiles) made.set(basename(path), Buffer.from(contents));
  for (const entry of entries) {
    const name = entry.replace(/\.[a-z]+$/, '');
    const own = await readFileWithin(folder, `${pagesFolder}/${name}.html`, { reason, maxBytes: 1 << 20 });
    made.set(`${name}.html`, own ?? Buffer.from(pageOf(name, made.has(`${name}.css`))));
  }
  return made;
}

async function pageEntries(folder: string): Promise<string[]> {
  if ((await fileWithin(folder, pagesFolder, reason)) === undefined) return [];
  const names = await readdir(join(folder, pagesFolder));
  const entries = names.filter((name) => entryForm.test(name)).toSorted();
  if (entries.length > maxPages)
    throw new PluginError({ reason, message: `${pagesFolder}: ${maxPages} scripts are the most that it may have` });
  return entries;
}

function pageOf(name: string, hasStyles: boolean): string {
  const style = hasStyles ? `<link rel="stylesheet" href="${name}.css">` : '';
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${name}</title>${style}<div id="root"></div><script src="${name}.js"></script></html>\n`;
}

const clientEntries: Readonly<Record<string, string>> = {
  '@svc/client': 'index',
  '@svc/client/page': 'page/index',
  '@svc/client/react': 'react/index',
};

const resolving = Symbol('resolving');
const ourFolder = fileURLToPath(new URL('../../', import.meta.url));

/**
 * Our modules do nothing when they are loaded, so that a page has only what it uses, and nothing that needs Node.js. The
 * hooks use the React of the plugin, as the page itself does.
 */
const clientOfHost = (folder: string): Plugin => ({
  name: 'client-of-host',
  setup: (build) => {
    build.onResolve({ filter: /^@svc\/client(?:\/|$)/ }, ({ path }) => {
      const entry = Object.hasOwn(clientEntries, path) ? clientEntries[path] : undefined;
      if (entry !== undefined) return { path: join(ourFolder, `webclient/${entry}${extension}`), sideEffects: false };
      return { errors: [{ text: `there is no ${path}: the host gives ${Object.keys(clientEntries).join(' and ')}` }] };
    });
    build.onResolve({ filter: /.*/ }, async ({ path, importer, kind, namespace, resolveDir, pluginData }) => {
      if (pluginData === resolving || !importer.startsWith(ourFolder)) return undefined;
      if (path === 'react') return build.resolve(path, { importer, kind, resolveDir: folder, pluginData: resolving });
      // Only modules that are left out need Node.js, or a library.
      if (isBuiltin(path) || bareImport.test(path)) return { path, external: true, sideEffects: false };
      const result = await build.resolve(path, { importer, kind, namespace, resolveDir, pluginData: resolving });
      return { ...result, sideEffects: false };
    });
  },
});
