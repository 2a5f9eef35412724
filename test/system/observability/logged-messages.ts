import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync } from '@swc/core';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const levels: ReadonlySet<string> = new Set(['trace', 'debug', 'info', 'warn', 'error', 'fatal']);
/** A shorter template, such as `${name}: ${reason}`, fits any text and proves nothing. */
const minFixedLength = 12;

/** A node of swc's syntax tree. */
interface SyntaxNode {
  readonly type?: string;
  readonly [key: string]: unknown;
}

/**
 * What the program logs: the texts in calls of loggers, and those of `#fail`, with which a process ends. Each is a
 * pattern, because a template has values.
 */
export async function readLoggedMessages(): Promise<RegExp[]> {
  const folders = await Promise.all(
    ['pkg', 'cmd'].map((folder) => readdir(join(root, folder), { recursive: true, withFileTypes: true })),
  );
  const files = folders
    .flat()
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.test.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !file.includes('/pkg/testenv/'));
  const sources = await Promise.all(files.map((file) => readFile(file, 'utf8')));
  return sources.flatMap(loggedMessagesIn);
}

/** The patterns of one TypeScript source. */
export function loggedMessagesIn(source: string): RegExp[] {
  if (!/\blog(?:ger)?\b|#fail\(/i.test(source)) return [];
  const module = parseSync(source, { syntax: 'typescript', target: 'es2022', decorators: true });
  return [...callsIn(module)].flatMap((call) => (call['arguments'] as unknown[]).flatMap((each) => [...textsIn(each)]));
}

function* callsIn(node: unknown): Generator<SyntaxNode> {
  if (typeof node !== 'object' || node === null) return;
  const { type, callee } = node as SyntaxNode;
  if (type === 'CallExpression' && isLogging(callee as SyntaxNode)) yield node as SyntaxNode;
  for (const part of Object.values(node)) yield* callsIn(part);
}

/** `log.warn`, `this.#log.warn`, `log[level]`, `this.#fail`. */
function isLogging(callee: SyntaxNode): boolean {
  if (callee.type !== 'MemberExpression') return false;
  const method = nameOf(callee['property']);
  if (method === 'fail') return true;
  const object = callee['object'] as SyntaxNode;
  const owner = nameOf(object.type === 'MemberExpression' ? object['property'] : object);
  return /^log(?:ger)?$/.test(owner ?? '') && (method === undefined || levels.has(method));
}

/** Undefined if it is computed. */
function nameOf(node: unknown): string | undefined {
  const { type, value } = node as SyntaxNode;
  return type === 'Identifier' || type === 'PrivateName' ? String(value) : undefined;
}

/** The texts in an argument, but not those of its objects, which are fields. */
function* textsIn(node: unknown): Generator<RegExp> {
  if (typeof node !== 'object' || node === null) return;
  const { type, value, quasis } = node as SyntaxNode;
  if (type === 'ObjectExpression') return;
  if (type === 'StringLiteral') yield new RegExp(`^${escaped(String(value))}$`);
  else if (type === 'TemplateLiteral') {
    const fixed = (quasis as { cooked: string }[]).map(({ cooked }) => cooked);
    if (fixed.join('').length >= minFixedLength) yield new RegExp(`^${fixed.map(escaped).join('.*')}$`);
  } else for (const part of Object.values(node)) yield* textsIn(part);
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}
