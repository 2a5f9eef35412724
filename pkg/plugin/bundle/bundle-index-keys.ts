import { access } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Plugin } from 'esbuild';
import { bundleInput } from './bundle-input.ts';
import { bareImport, isBuiltin, ownPackages } from './own-packages.ts';
import { runEsbuild } from './run-esbuild.ts';

const names = ['index-keys.ts', 'index-keys.js', 'index-keys.mjs'] as const;

/**
 * Bundles the plugin's module of computed index keys into a script that leaves its exports in a variable `indexKeys`;
 * undefined if there is no such module. The script must be pure, because API servers run it without any Node API.
 * @throws PluginError `BundleFailed`, also if it imports a module of Node or the SDK
 */
export async function bundleIndexKeys(
  folder: string,
  main: string,
  digests: Map<string, string>,
): Promise<string | undefined> {
  const entry = await findEntry(join(folder, dirname(main)));
  if (entry === undefined) return undefined;
  const { outputFiles } = await runEsbuild({
    absWorkingDir: folder,
    entryPoints: [entry],
    format: 'iife',
    globalName: 'indexKeys',
    platform: 'neutral',
    // A changed text makes the server rebuild the index; comments and formatting must not.
    minifyWhitespace: true,
    plugins: [nothingOfTheHost, ownPackages(folder, ''), bundleInput(digests)],
  });
  return outputFiles[0]!.text;
}

const nothingOfTheHost: Plugin = {
  name: 'nothing-of-the-host',
  setup: (build) => {
    build.onResolve({ filter: bareImport }, ({ path, kind }) => {
      if (kind === 'entry-point' || (!isBuiltin(path) && path !== '@svc/sdk')) return undefined;
      return { errors: [{ text: `index keys are pure: their module cannot import ${path}` }] };
    });
  },
};

async function findEntry(folder: string): Promise<string | undefined> {
  for (const name of names) {
    const path = join(folder, name);
    const isThere = await access(path).then(
      () => true,
      () => false,
    );
    if (isThere) return path;
  }
  return undefined;
}
