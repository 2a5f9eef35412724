/**
 * Hooks of Node.js's module loader. Types become spaces, so lines and columns stay what they are in the file; `npm run
 * typecheck` is what checks them.
 */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { transformSync } from '@swc/wasm-typescript';

/** What tests import that Node.js would not find, or find another. */
const replaced = new Map(
  Object.entries({
    '@jest/globals': './globals.mjs',
    'fast-check': './fast-check.ts',
    // As tsconfig.json has them: what plugins import.
    '@svc/sdk': '../../pkg/index.ts',
    '@svc/sdk/testing': '../../pkg/testenv/index.ts',
  }).map(([name, file]) => [name, new URL(file, import.meta.url).href]),
);

/** Of our own modules the path tells the URL, so that no file is looked for. */
export function resolve(specifier, context, next) {
  const url =
    replaced.get(specifier) ??
    (specifier.startsWith('#pkg/') ? new URL(`../../pkg/${specifier.slice(5)}.ts`, import.meta.url).href : undefined) ??
    (/^\.\.?\/.*\.ts$/.test(specifier) ? new URL(specifier, context.parentURL).href : undefined);
  return url === undefined ? next(specifier, context) : { url, format: 'module', shortCircuit: true };
}

export async function load(url, context, next) {
  if (!/^file:.*\.m?ts(\?|$)/.test(url)) return next(url, context);
  const source = await readFile(fileURLToPath(url), 'utf8');
  const { code } = transformSync(source, { mode: 'strip-only', module: true });
  return { format: 'module', source: code, shortCircuit: true };
}
