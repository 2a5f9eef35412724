/**
 * Checks that the lock file works on every machine: `node hack/check-lock.mjs [package-lock.json]`. npm writes an
 * incomplete one if the registry lacks a platform's package at that moment, and `npm ci` then fails only on another
 * machine; a host in `resolved` would bind every install to one registry. package.json must allow or deny each package
 * with an install script, because npm warns about others.
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

/** Resolves as Node does: in the package's own node_modules, then in each parent. */
function isInstalled(path, name) {
  const folders = path.split(/(?:^|\/)node_modules\//);
  return folders.some(
    (_, depth) =>
      [...folders.slice(0, folders.length - depth), name].join('/node_modules/').replace(/^\//, '') in packages,
  );
}
