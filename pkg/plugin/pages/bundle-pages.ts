import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Loader, Plugin } from 'esbuild';
import { bareImport, ownPackages } from '../bundle/own-packages.ts';
import { runEsbuild, textLoaders } from '../bundle/run-esbuild.ts';
import { fileWithin, readFileWithin } from '../manifest/file-within.ts';
import { PluginError } from '../plugin-error.ts';
import { bundleClient, clientEntries } from './bundle-client.ts';

const pagesFolder = 'pages';
const entryForm = /^([a-z0-9][a-z0-9-]{0,62})\.(?:tsx|ts|jsx|js)$/;
const reason = 'PagesInvalid';
const maxPages = 50;

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

const clientFiles = 'svc-client';

/** A page has of the client only what it uses. The hooks use the React of the plugin, as the page itself does. */
const clientOfHost = (folder: string): Plugin => ({
  name: 'client-of-host',
  setup: (build) => {
    build.onResolve({ filter: /^@svc\/client(?:\/|$)/ }, ({ path }) => {
      const entry = Object.hasOwn(clientEntries, path) ? clientEntries[path] : undefined;
      if (entry !== undefined) return { path: entry, namespace: clientFiles, sideEffects: false };
      return { errors: [{ text: `there is no ${path}: the host gives ${Object.keys(clientEntries).join(' and ')}` }] };
    });
    build.onResolve({ filter: /.*/, namespace: clientFiles }, ({ path, kind }) => {
      if (path === 'react') return build.resolve(path, { kind, resolveDir: folder });
      // What is not left out imports nothing else.
      return bareImport.test(path)
        ? { path, external: true, sideEffects: false }
        : { path: basename(path), namespace: clientFiles, sideEffects: false };
    });
    build.onLoad({ filter: /.*/, namespace: clientFiles }, async ({ path }) => {
      const contents = (await bundleClient()).get(path);
      return contents === undefined ? undefined : { contents };
    });
  },
});
