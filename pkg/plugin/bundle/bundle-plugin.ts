import { createHash, randomUUID } from 'node:crypto';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { PluginError } from '../plugin-error.ts';
import { bundleInput } from './bundle-input.ts';
import { bundleIndexKeys } from './bundle-index-keys.ts';
import { bundleSdk } from './bundle-sdk.ts';
import { fingerprintFrom } from './fingerprint.ts';
import { ownPackages } from './own-packages.ts';
import { runEsbuild, textLoaders } from './run-esbuild.ts';

/** The result of bundling a plugin's folder. */
export interface PluginBundle {
  /** The bundled module on disk: ESM with an inline source map. */
  file: string;
  /** The entry point of its worker, which shares the modules behind `@svc/sdk` with the bundle. */
  worker: string;
  /** The bundled `index-keys.ts|js|mjs`: a script without imports that leaves its exports in a variable `indexKeys`. */
  indexKeys?: string;
  /** Absolute paths of the source files. */
  files: string[];
  /** Fingerprint of those files as read; if `fingerprintOf(files)` differs, they have changed. */
  fingerprint: string;
}

export interface BundlePluginOptions {
  /** The plugin's folder, absolute. */
  folder: string;
  /** Its module, relative to the folder. */
  main: string;
  /** Where bundles are written, one for each folder: a new bundle replaces the previous one. Created if missing. */
  outDir: string;
}

/** Maximum length of a bundle with its source map. Characters. */
const maxBundleLength = 64 << 20;

/**
 * Bundles a plugin's module with everything that it imports: TypeScript or JavaScript, and packages of its own
 * `node_modules`. Modules of Node stay imports, and `@svc/sdk` becomes the host's.
 * @throws PluginError `BundleFailed` that names file, line and column
 */
export async function bundlePlugin({ folder, main, outDir }: BundlePluginOptions): Promise<PluginBundle> {
  const { sdk, worker } = await bundleSdk(outDir);
  const digests = new Map<string, string>();
  const [text, indexKeys] = await Promise.all([
    bundleModule({ folder, main, sdk, digests }),
    bundleIndexKeys(folder, main, digests),
  ]);
  const file = join(outDir, `${basename(folder)}-${createHash('sha256').update(folder).digest('hex').slice(0, 8)}.mjs`);
  await writeWhole(file, text);
  return {
    file,
    worker,
    ...(indexKeys === undefined ? {} : { indexKeys }),
    files: [...digests.keys()].toSorted(),
    fingerprint: fingerprintFrom(digests),
  };
}

async function bundleModule({
  folder,
  main,
  sdk,
  digests,
}: {
  folder: string;
  main: string;
  sdk: string;
  digests: Map<string, string>;
}): Promise<string> {
  const { outputFiles } = await runEsbuild({
    absWorkingDir: folder,
    entryPoints: [join(folder, main)],
    sourcemap: 'inline',
    sourcesContent: false,
    loader: textLoaders,
    // Stack traces name the author's files.
    sourceRoot: `${pathToFileURL(folder).href}/`,
    plugins: [ownPackages(folder, sdk), bundleInput(digests)],
  });
  const { text } = outputFiles[0]!;
  if (text.length > maxBundleLength)
    throw new PluginError({
      reason: 'BundleFailed',
      message: `the bundle is larger than ${maxBundleLength} characters`,
    });
  return text;
}

/** Atomic: a worker that starts meanwhile reads the old file or the new one, never a part. */
async function writeWhole(file: string, text: string): Promise<void> {
  await mkdir(join(file, '..'), { recursive: true });
  const draft = `${file}.${randomUUID()}`;
  try {
    await writeFile(draft, text);
    await rename(draft, file);
  } finally {
    await rm(draft, { force: true });
  }
}
