import { parseSync } from '@swc/core';

/** Imports of a TypeScript source that dependency-cruiser does not see, one sentence for each. */
export function findUncheckedImports(source) {
  // Few files have an import(); parsing all of them would take as long as the rest of the check.
  if (!/\bimport\s*\(/.test(source)) return [];
  const nodes = [...importNodes(parseSync(source, { syntax: 'typescript', target: 'es2022' }))];
  const imported = new Set(nodes.filter(({ isType }) => !isType).map(({ module }) => module));
  const problems = [];
  if (imported.has(undefined)) problems.push('the module of an import() is computed, so nobody can check it');
  // A type import of a module that is also imported at run time is fine: dependency-cruiser sees that one.
  if (nodes.some(({ isType, module }) => isType && !imported.has(module)))
    problems.push('an import() inside a type is not checked; write import type');
  return problems;
}

/** Each import(), as a value or a type; `module` is undefined unless it is a string literal. */
function* importNodes(node) {
  if (typeof node !== 'object' || node === null) return;
  if (node.type === 'TsImportType') yield { isType: true, module: node.argument.value };
  if (node.type === 'CallExpression' && node.callee.type === 'Import') {
    const expression = node.arguments[0]?.expression;
    yield { isType: false, module: expression?.type === 'StringLiteral' ? expression.value : undefined };
  }
  for (const part of Object.values(node)) yield* importNodes(part);
}
