/**
 * Holds the arrows between the wings (hack/imports/arrows.mjs): `node hack/verify-imports.mjs [root]`. Prints each
 * violation, exits 1 on any.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { arrows, arrowsOfTests, isTestFile, wingOf } from './imports/arrows.mjs';
import { findCircles } from './imports/find-circles.mjs';
import { scanImports } from './imports/scan-imports.mjs';

const root = resolve(process.argv[2] ?? join(dirname(fileURLToPath(import.meta.url)), '..'));
const files = ['cmd', 'pkg'].flatMap(listSources);
const samples = 'config/samples/plugins';
const violations = [];
const graph = new Map();

for (const file of files) {
  if (!arrows.has(wingOf(file))) violations.push(`${file}: the wing ${wingOf(file)} is not in the table of arrows`);
  const imports = scanImports(readFileSync(join(root, file), 'utf8'));
  for (const { specifier, line } of imports) {
    const problem = specifier === undefined ? problemOfComputed(file) : problemOf(file, specifier);
    if (problem !== undefined) violations.push(`${file}:${line}: ${problem}`);
  }
  graph.set(
    file,
    imports.flatMap(({ specifier }) => (specifier?.startsWith('.') ? [target(file, specifier)] : [])),
  );
}
// A plugin's folder goes elsewhere: it may import what is in it, and the SDK.
for (const file of listSources(samples)) {
  const home = file
    .split('/')
    .slice(0, samples.split('/').length + 1)
    .join('/');
  for (const { specifier, line } of scanImports(readFileSync(join(root, file), 'utf8'))) {
    const isOwn = specifier?.startsWith('.') === true && target(file, specifier).startsWith(`${home}/`);
    if (!isOwn && specifier !== '@svc/sdk')
      violations.push(`${file}:${line}: a plugin imports @svc/sdk and its own files, not ${specifier}`);
  }
}
for (const circle of findCircles(graph))
  violations.push(`these files import each other in a circle: ${[...circle, circle[0]].join(' -> ')}`);

process.stdout.write(
  violations.length === 0
    ? `${files.length} files, all arrows allowed, no circles\n`
    : `${violations.join('\n')}\n${violations.length} violations\n`,
);
process.exitCode = violations.length === 0 ? 0 : 1;

function listSources(folder) {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return listSources(path);
    return /\.[cm]?tsx?$/.test(entry.name) ? [path] : [];
  });
}

/** A worker loads the bundle of its plugin, which is no file of ours. */
function problemOfComputed(file) {
  return file === 'pkg/plugin/worker/load-bundle.ts'
    ? undefined
    : 'the module of an import() is computed, so nobody can check it';
}

function problemOf(file, specifier) {
  if (specifier.startsWith('.')) return problemOfRelative(file, target(file, specifier), specifier);
  if (specifier.startsWith('#')) return problemOfAlias(file, specifier);
  return specifier.startsWith('/') || specifier.startsWith('file:')
    ? `${specifier} is no way to import a file`
    : undefined;
}

function problemOfRelative(file, imported, specifier) {
  const isHome = imported.startsWith(homeOf(file));
  if (isTestFile(file))
    return isHome || imported.startsWith('pkg/testenv/')
      ? undefined
      : `${specifier} leaves the wing; use #pkg/<wing>/index`;
  if (!isHome) return `${specifier} leaves the wing; use #pkg/<wing>/index`;
  return isTestFile(imported) ? `${specifier} is for tests only` : undefined;
}

function problemOfAlias(file, specifier) {
  const wing = /^#pkg\/(?:([a-z]+)\/)?index$/.exec(specifier);
  if (wing === null) return `${specifier} reaches into a wing; its only door is #pkg/<wing>/index`;
  const [from, to] = [wingOf(file), wing[1] ?? 'index'];
  if (from === to) return `${specifier} is the wing's own door; import the file directly`;
  if (!arrows.has(to)) return `${specifier} is a wing that is not in the table of arrows`;
  const allowed = arrows.get(from);
  if (to === 'testenv' && !isTestFile(file)) return 'testenv is for tests only';
  if (allowed === 'anything' || allowed?.includes(to) || (isTestFile(file) && arrowsOfTests.includes(to)))
    return undefined;
  return `${from} may not import ${to}`;
}

/** The folder that relative imports stay in: a wing, or one program. */
function homeOf(file) {
  const [top, second] = file.split('/');
  return second.endsWith('.ts') ? `${top}/${second}` : `${top}/${second}/`;
}

function target(file, specifier) {
  return relative(root, resolve(root, dirname(file), specifier)).replaceAll('\\', '/');
}
