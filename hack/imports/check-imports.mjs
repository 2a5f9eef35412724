import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cruise } from 'dependency-cruiser';
import { allowedImports, computedImports, testFiles } from './allowed-imports.mjs';
import { findFolderCycles } from './folder-cycles.mjs';
import { importRules } from './import-rules.mjs';
import { findUncheckedImports } from './unchecked-imports.mjs';

const folders = ['cmd', 'pkg', 'test', 'bench', 'hack', 'config/samples/plugins'];

/**
 * The number of files below `root`, and the violations of their imports. dependency-cruiser checks `importRules`; this
 * adds what it cannot check: cycles of folders, and imports that it does not see.
 */
export async function checkImports(root) {
  const { modules, summary } = await readImports(root);
  const files = modules
    .map(({ source }) => source)
    .filter((file) => folders.some((folder) => file.startsWith(`${folder}/`)));
  const text = (file) => readFileSync(join(root, file), 'utf8');
  return {
    files: files.length,
    violations: [
      ...unknownPackages(files),
      ...ruleViolations(summary.violations, text),
      ...folderCycles(modules),
      ...uncheckedImports(files, text),
    ],
  };
}

async function readImports(root) {
  const { output } = await cruise(
    folders.filter((folder) => existsSync(join(root, folder))),
    {
      baseDir: root,
      parser: 'swc',
      // Type imports count.
      tsPreCompilationDeps: true,
      doNotFollow: { path: 'node_modules' },
      exclude: { path: 'node_modules' },
      enhancedResolveOptions: { conditionNames: ['source', 'import', 'node', 'default'], exportsFields: ['exports'] },
      validate: true,
      ruleSet: { forbidden: importRules },
    },
  );
  return output;
}

function unknownPackages(files) {
  const packages = new Set(files.flatMap((file) => /^pkg\/([^/]+?)(?:\/|\.ts$)/.exec(file)?.[1] ?? []));
  return [...packages]
    .filter((name) => !allowedImports.has(name))
    .map((name) => `pkg/${name}: the package is not in hack/imports/allowed-imports.mjs`);
}

function ruleViolations(violations, text) {
  const found = violations.map(({ from, to, rule, cycle, unresolvedTo = to }) => {
    const { comment } = importRules.find(({ name }) => name === rule.name);
    if (cycle !== undefined) return `${comment}: ${[from, ...cycle.map(({ name }) => name)].join(' -> ')}`;
    return `${from}:${lineOf(unresolvedTo, text(from))}: ${to}: ${comment}`;
  });
  return [...new Set(found)];
}

function lineOf(specifier, text) {
  const lines = text.split('\n');
  return lines.findIndex((line) => line.includes(`'${specifier}'`) || line.includes(`"${specifier}"`)) + 1;
}

function folderCycles(modules) {
  const isProduct = (file) => /^(?:pkg|cmd)\//.test(file) && !new RegExp(testFiles).test(file);
  const edges = modules
    .flatMap(({ source, dependencies }) => dependencies.map(({ resolved }) => ({ from: source, to: resolved })))
    .filter(({ from, to }) => isProduct(from) && isProduct(to));
  return findFolderCycles(edges).map((cycle) =>
    [
      `folders import each other in a cycle: ${[...cycle, cycle[0]].map(({ folder }) => folder).join(' -> ')}`,
      ...cycle.map(({ from, to }) => `  ${from} imports ${to}`),
    ].join('\n'),
  );
}

function uncheckedImports(files, text) {
  return files
    .filter((file) => /^(?:pkg|cmd|config)\//.test(file) && !computedImports.includes(file))
    .flatMap((file) => findUncheckedImports(text(file)).map((problem) => `${file}: ${problem}`));
}
