/**
 * Is the lock file good for every machine? `node hack/check-lock.mjs [package-lock.json]` npm writes an incomplete one
 * where the registry lacks a platform's package at that moment, and then `npm ci` fails on the next machine only; and a
 * host in `resolved` would tie every install to one registry. A package with an install script is one that package.json
 * allows or denies: npm warns of any other.
 */
import { readFileSync } from 'node:fs';

const file = process.argv[2] ?? new URL('../package-lock.json', import.meta.url);
const { packages } = JSON.parse(readFileSync(file, 'utf8'));
const { allowScripts } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const problems = [];

for (const [path, entry] of Object.entries(packages)) {
  for (const name of Object.keys(entry.optionalDependencies ?? {})) {
    if (!isInstalled(path, name)) problems.push(`${path || 'package.json'} lacks its optional ${name}`);
  }
  const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
  if (entry.hasInstallScript && allowScripts[name] === undefined)
    problems.push(`${path} has an install script that allowScripts in package.json does not name`);
  if (/^https?:/.test(entry.resolved ?? '')) problems.push(`${path} is tied to the host of ${entry.resolved}`);
  if (path.includes('node_modules/') && !entry.link && !entry.inBundle && entry.integrity === undefined)
    problems.push(`${path} has no integrity`);
}

process.stdout.write(
  problems.length === 0
    ? `${Object.keys(packages).length} packages, complete for every platform\n`
    : `${problems.join('\n')}\n${problems.length} problems\n`,
);
process.exitCode = problems.length === 0 ? 0 : 1;

/** As Node looks for it: in the package's own node_modules, then in each one further out. */
function isInstalled(path, name) {
  const folders = path.split(/(?:^|\/)node_modules\//);
  return folders.some(
    (_, depth) =>
      [...folders.slice(0, folders.length - depth), name].join('/node_modules/').replace(/^\//, '') in packages,
  );
}
