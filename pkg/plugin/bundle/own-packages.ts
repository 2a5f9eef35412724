import { access } from 'node:fs/promises';
import { builtinModules } from 'node:module';
import { dirname, join } from 'node:path';
import type { OnResolveArgs, OnResolveResult, Plugin } from 'esbuild';
import { isWithin } from '../manifest/file-within.ts';

const builtins: ReadonlySet<string> = new Set(builtinModules);

export function isBuiltin(path: string): boolean {
  return path.startsWith('node:') || builtins.has(path);
}

/** A package, not a file, not a URL, and not the importer's own `#import`. */
export const bareImport = /^[^./#]/;

/**
 * Packages come from `node_modules` of the plugin's folder alone: what lies above it is the host's, and would be
 * missing where the plugin goes next. `@svc/sdk` is `sdk`.
 */
export function ownPackages(folder: string, sdk: string): Plugin {
  return {
    name: 'own-packages',
    setup: (build) => {
      build.onResolve({ filter: /^@svc\/sdk$/ }, () => ({ path: sdk, external: true }));
      build.onResolve({ filter: bareImport }, (args) => resolveBare(args, folder));
    },
  };
}

async function resolveBare(
  { path, resolveDir, kind }: OnResolveArgs,
  folder: string,
): Promise<OnResolveResult | undefined> {
  if (kind === 'entry-point' || isBuiltin(path)) return undefined;
  const name = path.split('/', path.startsWith('@') ? 2 : 1).join('/');
  if (path.startsWith('file:') || path.startsWith('data:')) return undefined;
  for (let at = resolveDir; isWithin(folder, at); at = dirname(at))
    if (await isThere(join(at, 'node_modules', name))) return undefined;
  // Some packages try for another, and go on without it.
  if (kind === 'require-call' || kind === 'require-resolve') return { path, external: true };
  const hint = path.startsWith('@svc/') ? 'the host gives @svc/sdk alone' : `run "npm install ${name}" in ${folder}`;
  return { errors: [{ text: `the package ${name} is not in the plugin's node_modules: ${hint}` }] };
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
