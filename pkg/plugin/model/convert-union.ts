import { isJsonObject, type JsonSchema } from '#pkg/apimachinery/index';
import { enumSchema, withNull } from './enum-schema.ts';
import { newSchemaError } from './schema-error.ts';

/**
 * A union of literals becomes an enum, a null branch `nullable`, and integer or string int-or-string; the dialect has
 * no other unions.
 */
export function convertUnion(
  node: Record<string, unknown>,
  path: string,
  convert: (inner: unknown, path: string) => JsonSchema,
): JsonSchema {
  if (node['type'] !== undefined || node['x-kubernetes-int-or-string'] === true)
    throw newSchemaError(path, 'has a type and a union beside it; a union stands alone');
  const branches = branchesOf(node, path);
  const others = branches.filter((branch) => branch['type'] !== 'null');
  const nullable = others.length < branches.length;
  const [only] = others;
  if (only === undefined) throw newSchemaError(path, 'can be nothing but null');
  if (others.length === 1) return withNull(convert(only, path), nullable);
  const literals = others.map(literalsOf);
  if (literals.every((values) => values !== undefined)) return withNull(enumSchema(literals.flat(), path), nullable);
  if (isIntegerOrString(others)) return withNull({ 'x-kubernetes-int-or-string': true }, nullable);
  throw newSchemaError(
    path,
    'is a union that a definition cannot say; it can say literals, integer or string, and null beside one type',
  );
}

/** Flattens nested unions. */
function branchesOf(node: Record<string, unknown>, path: string, depth = 0): Record<string, unknown>[] {
  return (node['anyOf'] as unknown[]).flatMap((branch) => {
    if (!isJsonObject(branch) || depth > 100) throw newSchemaError(path, 'is a union of something that is no schema');
    return Array.isArray(branch['anyOf']) && Object.keys(branch).length === 1
      ? branchesOf(branch, path, depth + 1)
      : [branch];
  });
}

function literalsOf(branch: Record<string, unknown>): readonly unknown[] | undefined {
  const names = Object.keys(branch).filter((name) => name !== 'type' && name !== 'description' && name !== 'title');
  if (names.length !== 1) return undefined;
  if (names[0] === 'const') return [branch['const']];
  return names[0] === 'enum' && Array.isArray(branch['enum']) ? branch['enum'] : undefined;
}

function isIntegerOrString(branches: readonly Record<string, unknown>[]): boolean {
  const isPlain = branches.every((branch) => Object.keys(branch).length === 1);
  return (
    isPlain &&
    branches
      .map(({ type }) => String(type))
      .toSorted()
      .join() === 'integer,string'
  );
}
