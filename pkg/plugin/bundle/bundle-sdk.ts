import { createHash } from 'node:crypto';
import { access, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Plugin } from 'esbuild';
import { runEsbuild } from './run-esbuild.ts';

/**
 * The module that replaces `@svc/sdk` for plugins, and the program of their workers. Both are bundled, because loading
 * hundreds of modules takes half a second.
 */
export interface SdkBundle {
  /** URL of the module that replaces `@svc/sdk`. */
  sdk: string;
  /** Path of the worker's program, which shares modules with `sdk`. */
  worker: string;
}

/** `.ts` if this process runs from the sources, `.js` if it runs from the build. */
const extension = extname(fileURLToPath(import.meta.url));
const conditions = extension === '.ts' ? ['source'] : [];
const workerMain = sourceOf('../worker/thread/worker-main');
const made = new Map<string, Promise<SdkBundle>>();

/** Bundles the SDK into its own folder below `outDir`: once per process, and again if the files were removed. */
export async function bundleSdk(outDir: string): Promise<SdkBundle> {
  const last = made.get(outDir);
  const known = await last?.catch(() => undefined);
  if (known !== undefined && (await isThere(known.worker))) return known;
  // If several callers find it missing at once, the first one builds it.
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
    // Error messages and stack traces contain names of classes and functions.
    keepNames: true,
    plugins: [unusedIsLeftOut],
    // CommonJS packages load Node's own modules with `require`.
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
    // Another process built the same bundle meanwhile.
    if (!(await isThere(bundle.worker))) throw error;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return bundle;
}

/**
 * Our modules have no side effects on import, so the bundle can omit what a worker does not use (the host, servers,
 * PostgreSQL).
 */
const unusedIsLeftOut: Plugin = {
  name: 'unused-is-left-out',
  setup: (build) => {
    build.onResolve({ filter: /^[^/]/ }, async ({ path, pluginData, kind, ...rest }) => {
      if (pluginData === resolving || kind === 'entry-point') return undefined;
      const { importer, namespace, resolveDir } = rest;
      // Only the host needs the modules that other files import dynamically.
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
