import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { defineConfig, type BuildEnvironmentOptions, type Plugin } from 'vite';

const folder = fileURLToPath(new URL('.', import.meta.url));

/** The server sends these as they are. */
const compressAssets: Plugin = {
  name: 'compress-assets',
  apply: 'build',
  writeBundle({ dir }) {
    const assets = join(dir!, 'assets');
    for (const name of readdirSync(assets)) {
      const content = readFileSync(join(assets, name));
      writeFileSync(join(assets, `${name}.gz`), gzipSync(content, { level: 9 }));
      writeFileSync(join(assets, `${name}.br`), brotliCompressSync(content));
    }
  },
};

const emptyModule = '\0empty:';

/**
 * Some files of the client name modules of Node.js for what browsers do not run. A build leaves both out; the server of
 * sources loads every file, so each name needs to be there.
 */
const emptyNodeModules: Plugin = {
  name: 'empty-node-modules',
  apply: 'serve',
  enforce: 'pre',
  resolveId: (id) => (id.startsWith('node:') ? `${emptyModule}${id}` : undefined),
  load: async (id) => {
    if (!id.startsWith(emptyModule)) return undefined;
    const names = Object.keys((await import(id.slice(emptyModule.length))) as object);
    return names
      .filter((name) => name !== 'default')
      .map((name) => `export const ${name} = undefined;`)
      .join('\n');
  },
};

const platform = process.env['SVC_CONSOLE_PLATFORM'] ?? 'http://127.0.0.1:8090';

const rolldownOptions = {
  // Loading a file of the client does nothing by itself, so that what is not used is left out.
  treeshake: { moduleSideEffects: [{ test: /\/pkg\//, sideEffects: false }] },
  // A line for each would say nothing: what imports them is left out.
  onLog: (level, log, handle) => {
    if (!log.message.includes('externalized for browser compatibility')) handle(level, log);
  },
} satisfies BuildEnvironmentOptions['rolldownOptions'];

/** The page of the user center, whose paths are not below `base`. */
const userCenterPage: Plugin = {
  name: 'user-center-page',
  apply: 'serve',
  configureServer({ middlewares }) {
    middlewares.use((request, _response, next) => {
      if (/^\/uc(?:[/?]|$)/.test(request.url ?? '')) request.url = '/console/uc.html';
      next();
    });
  },
};

/**
 * What both pages begin with is one file: over HTTP/1.1 many small ones wait for each other. The shell, the lists and the
 * models, which the user center does not show, are not among it.
 */
const base =
  /\/node_modules\/(?!@tanstack\/)|\/pkg\/|\/console\/src\/(?:interface|server|texts)\/|\/shell\/(?:top-bar|login-form)/;

/** Several parts load them, and each is too small to be a file. */
const smallParts =
  /\/console\/src\/(?:interface\/(?:use-warnings|warning-notes)|fields\/rules-text|server\/open-api-schema)/;

/** `npm run build:console` writes `console/dist`; `npm run dev:console` serves the sources, next to a running server. */
export default defineConfig({
  root: folder,
  base: '/console/',
  // The server replaces it in each answer.
  html: { cspNonce: '__CSP_NONCE__' },
  resolve: {
    alias: [
      { find: /^@svc\/client$/, replacement: join(folder, '../pkg/webclient/index.ts') },
      { find: '@svc/client/page', replacement: join(folder, '../pkg/webclient/page/index.ts') },
      { find: '@svc/client/worker', replacement: join(folder, '../pkg/webclient/worker/index.ts') },
      { find: /^#pkg\/(.*)$/, replacement: join(folder, '../pkg/$1.ts') },
    ],
  },
  build: {
    outDir: join(folder, 'dist'),
    emptyOutDir: true,
    target: 'es2022',
    modulePreload: { polyfill: false },
    // Everything is a file of its own, because the policy allows no data: but for images.
    assetsInlineLimit: 0,
    rolldownOptions: {
      ...rolldownOptions,
      input: [join(folder, 'index.html'), join(folder, 'uc.html')],
      output: {
        codeSplitting: {
          groups: [
            { name: 'base', tags: ['$initial'], test: base },
            { name: 'small-parts', test: smallParts },
          ],
        },
      },
    },
  },
  worker: { format: 'es', rolldownOptions },
  plugins: [compressAssets, userCenterPage, emptyNodeModules],
  server: {
    host: '127.0.0.1',
    // With the host of this page, because the server compares it with the origin of what changes something.
    proxy: { '^/(?!console/)': { target: platform, changeOrigin: false } },
  },
});
