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
import { runEsbuild } from './run-esbuild.ts';

/** What a plugin's folder was bundled into. */
export interface PluginBundle {
  /** Of the plugin's module, on disk: ESM, with the source map in it. */
  file: string;
  /** Where its worker begins: it shares the modules behind `@svc/sdk` with the bundle. */
  worker: string;
  /**
   * `index-keys.ts|js|mjs` beside the module, as a script of its own: it imports nothing, and leaves its exports in a
   * variable `indexKeys`.
   */
  indexKeys?: string;
  /** Absolute paths of what went into it. */
  files: string[];
  /** Of those files as they were read: when `fingerprintOf(files)` is another, there is something new. */
  fingerprint: string;
}

export interface BundleOptions {
  /** Of the plugin, absolute. */
  folder: string;
  /** Its module, relative to the folder. */
  main: string;
  /**
   * Where bundles are written, one for each folder: the next one takes the place of the last. Made where it is not
   * there.
   */
  outDir: string;
}

/** Characters of a bundle, its source map included. */
const maxBundleLength = 64 << 20;

/**
 * Bundles a plugin's module with all it imports: TypeScript or JavaScript, and packages of its own `node_modules`.
 * Modules of Node stay imports, and `@svc/sdk` becomes one of the host's. @throws PluginError `BundleFailed` that names
 * file, line and column
 */
export async function bundlePlugin({ folder, main, outDir }: BundleOptions): Promise<PluginBundle> {
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
    // So that stacks name the author's files.
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

/** A worker that begins meanwhile finds the file of before, or this one, and never a part. */
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
