import { access } from 'node:fs/promises';
import { builtinModules } from 'node:module';
import { dirname, join } from 'node:path';
import type { OnResolveArgs, OnResolveResult, Plugin } from 'esbuild';
import { isWithin } from '../manifest/file-within.ts';

const builtins: ReadonlySet<string> = new Set(builtinModules);

export function isBuiltin(path: string): boolean {
  return path.startsWith('node:') || builtins.has(path);
}

/** Matches a package: not a file, a URL or the importer's own `#import`. */
export const bareImport = /^[^./#]/;

/**
 * Resolves packages from `node_modules` of the plugin's folder only: those of parent folders belong to the host, and
 * would be missing on the plugin's next host. `@svc/sdk` resolves to `sdk`.
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
  // Some packages try to require another one, and work without it.
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
