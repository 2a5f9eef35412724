/**
 * Checks the links of the documentation: `node hack/verify-links.mjs [root]`. It reads README.md, CONTRIBUTING.md,
 * CHANGELOG.md, pkg/README.md and docs/. Every relative link must lead to a file, and its anchor to a heading. Every
 * source path in backticks must exist; in docs/contributing every path. Every page that another file names as
 * docs/<page>.md must exist. Prints each violation, exits 1 on any.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findAnchors, findLinks, findPaths } from './docs/markdown-links.mjs';

const root = resolve(process.argv[2] ?? join(dirname(fileURLToPath(import.meta.url)), '..'));
const sources = ['bench', 'cmd', 'hack', 'pkg', 'test'];
/** An installation has files in config, data and deploy that the repository does not have. */
const folders = [...sources, 'config', 'deploy', 'docs'];
const pages = [
  ...['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'pkg/README.md'].filter((page) => existsSync(join(root, page))),
  ...listFiles('docs').filter((file) => file.endsWith('.md')),
];
const violations = [];
const anchorsOf = new Map();
let count = 0;

for (const page of pages) {
  const text = readFileSync(join(root, page), 'utf8');
  for (const { target, line } of findLinks(text)) check(page, line, target, dirname(page));
  for (const { path, line } of findPaths(text, page.startsWith('docs/contributing/') ? folders : sources)) {
    count += 1;
    if (!existsSync(join(root, path))) violations.push(`${page}:${line}: there is no ${path}`);
  }
}
for (const file of folders.filter((folder) => folder !== 'docs').flatMap(listFiles)) {
  if (!/\.([cm]?[jt]sx?|ya?ml|tpl|md|sh|service)$|Dockerfile$/.test(file) || file.endsWith('verify-links.test.ts'))
    continue;
  for (const [index, line] of readFileSync(join(root, file), 'utf8').split('\n').entries())
    for (const [target] of line.matchAll(/\bdocs\/[\w/-]+\.md(#[\w-]+)?/g)) check(file, index + 1, target, '.');
}

process.stdout.write(
  violations.length === 0
    ? `${pages.length} pages, ${count} links and paths, all resolve\n`
    : `${violations.join('\n')}\n${violations.length} violations\n`,
);
process.exitCode = violations.length === 0 ? 0 : 1;

function check(page, line, target, folder) {
  count += 1;
  const [path, anchor] = target.split('#');
  const file = path === '' ? page : relative(root, join(root, folder, path));
  if (!existsSync(join(root, file))) violations.push(`${page}:${line}: ${target} leads to no file`);
  else if (anchor !== undefined && file.endsWith('.md') && !anchors(file).has(anchor))
    violations.push(`${page}:${line}: ${target} leads to no heading`);
}

function anchors(file) {
  if (!anchorsOf.has(file)) anchorsOf.set(file, findAnchors(readFileSync(join(root, file), 'utf8')));
  return anchorsOf.get(file);
}

function listFiles(folder) {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.name === 'node_modules') return [];
    return entry.isDirectory() ? listFiles(path) : [path];
  });
}
