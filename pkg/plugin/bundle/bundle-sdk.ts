import { createHash } from 'node:crypto';
import { access, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Plugin } from 'esbuild';
import { runEsbuild } from './run-esbuild.ts';

/**
 * What plugins are given in place of `@svc/sdk`, and the program of their workers: bundled, as hundreds of modules take
 * half a second to load.
 */
export interface SdkBundle {
  /** URL of the module that `@svc/sdk` stands for. */
  sdk: string;
  /** Path of the worker's program, which shares its modules. */
  worker: string;
}

/** `.ts` where we run from the sources, `.js` where we run from what was built of them. */
const extension = extname(fileURLToPath(import.meta.url));
const conditions = extension === '.ts' ? ['source'] : [];
const workerMain = sourceOf('../worker/worker-main');
const made = new Map<string, Promise<SdkBundle>>();

/**
 * Bundles the SDK into a folder of its own below `outDir`: once in the life of this process, unless somebody removes
 * it.
 */
export async function bundleSdk(outDir: string): Promise<SdkBundle> {
  const last = made.get(outDir);
  const known = await last?.catch(() => undefined);
  if (known !== undefined && (await isThere(known.worker))) return known;
  // Of several that miss it at once, the first one makes it.
  if (made.get(outDir) === last) made.set(outDir, makeSdk(outDir));
  return made.get(outDir)!;
}

async function makeSdk(outDir: string): Promise<SdkBundle> {
  const { outputFiles } = await runEsbuild({
    entryPoints: { sdk: sourceOf('../../index'), worker: workerMain },
    outdir: outDir,
    splitting: true,
    outExtension: { '.js': '.mjs' },
    conditions,
    minifySyntax: true,
    minifyWhitespace: true,
    // Messages and stacks name classes and functions.
    keepNames: true,
    plugins: [unusedIsLeftOut],
    // What is CommonJS asks for Node's own modules so.
    banner: {
      js: "import { createRequire as svcCreateRequire } from 'node:module'; const require = svcCreateRequire(import.meta.url);",
    },
  });
  const hash = createHash('sha256');
  for (const { path, contents } of outputFiles.toSorted((a, b) => (a.path < b.path ? -1 : 1)))
    hash.update(basename(path)).update(contents);
  const folder = join(outDir, `sdk-${hash.digest('hex').slice(0, 16)}`);
  const bundle = { sdk: pathToFileURL(join(folder, 'sdk.mjs')).href, worker: join(folder, 'worker.mjs') };
  if (await isThere(bundle.worker)) return bundle;
  const draft = `${folder}.${process.pid}.${Math.random().toString(36).slice(2)}`;
  await mkdir(draft, { recursive: true });
  try {
    for (const { path, contents } of outputFiles) await writeFile(join(draft, basename(path)), contents);
    await rename(draft, folder);
  } catch (error) {
    // Another process made the same one meanwhile.
    if (!(await isThere(bundle.worker))) throw error;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return bundle;
}

/**
 * No module of ours does anything by being imported, so what a worker does not use (the host, servers, PostgreSQL) need
 * not be there.
 */
const unusedIsLeftOut: Plugin = {
  name: 'unused-is-left-out',
  setup: (build) => {
    build.onResolve({ filter: /^[^/]/ }, async ({ path, pluginData, kind, ...rest }) => {
      if (pluginData === resolving || kind === 'entry-point') return undefined;
      const { importer, namespace, resolveDir } = rest;
      // What others load only where it is needed, the host needs.
      if (kind === 'dynamic-import' && dirname(importer) !== dirname(workerMain)) return { path, external: true };
      const result = await build.resolve(path, { importer, namespace, resolveDir, kind, pluginData: resolving });
      return result.errors.length > 0 || result.external ? result : { ...result, sideEffects: false };
    });
  },
};
const resolving = Symbol('resolving');

function sourceOf(module: string): string {
  return fileURLToPath(new URL(`${module}${extension}`, import.meta.url));
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
