import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMap, isScalar, isSeq, parseDocument, type Node } from 'yaml';
import { OperatorError } from './operator-error.ts';
import { findOption, optionNames, type OptionName } from './option-table.ts';
import { newUnknownOption, type Setting } from './setting.ts';

const maxDepth = 16;

/**
 * The options in all YAML files of a folder, in the order of the file names. Keys may be nested, dotted, or both
 * (`svc.server: { port: 8090 }`). A missing folder has none, unless it `mustExist`. Throws OperatorError for an
 * unreadable file or folder, and for an unknown option.
 */
export function readConfigFolder(
  folder: string,
  { mustExist }: { mustExist: boolean },
): { files: string[]; settings: Setting[] } {
  const files = listFiles(folder, mustExist).map((file) => join(folder, file));
  return { files, settings: files.flatMap(readConfig) };
}

function listFiles(folder: string, mustExist: boolean): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries
      .filter((entry) => !entry.isDirectory() && /^[^.].*\.ya?ml$/.test(entry.name))
      .map(({ name }) => name)
      .toSorted();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && !mustExist) return [];
    throw new OperatorError(`The config folder ${folder} cannot be read (${code}).`, { cause: error });
  }
}

function readConfig(file: string): Setting[] {
  // "failsafe" keeps every value as the written text: 0123 in a password stays 0123.
  const document = parseDocument(readText(file), { schema: 'failsafe', prettyErrors: true });
  const [mistake] = [...document.errors, ...document.warnings];
  if (mistake !== undefined) {
    // The parser's message quotes the line, which may contain a secret.
    const where = mistake.linePos === undefined ? '' : ` at line ${mistake.linePos[0].line}`;
    throw new OperatorError(`${file} is not valid YAML${where} (${mistake.code}).`);
  }
  const settings = flatten(document.contents, [], file);
  const seen = new Set<string>();
  for (const { name } of settings) {
    if (seen.has(name)) throw new OperatorError(`${file} sets ${name} twice.`);
    seen.add(name);
  }
  return settings;
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new OperatorError(`${file} cannot be read (${(error as NodeJS.ErrnoException).code}).`, { cause: error });
  }
}

function flatten(node: unknown, path: readonly string[], file: string): Setting[] {
  const name = path.join('.');
  if (path.length > maxDepth) throw new OperatorError(`${file} is nested too deeply.`);
  if (isMap<Node, Node>(node)) {
    return node.items.flatMap(({ key, value }) =>
      flatten(value, [...path, isScalar<string>(key) ? key.value : ''], file),
    );
  }
  const isEmpty = node === null || (isScalar(node) && node.value === '');
  // All of the file, or of this part, is commented out.
  if (isEmpty && (path.length === 0 || optionNames.some((each) => each.startsWith(`${name}.`)))) return [];
  if (path.length === 0) {
    throw new OperatorError(`${file} holds no options: it must be a map, such as "svc: { server: { port: 8090 } }".`);
  }
  if (findOption(name) === undefined) throw newUnknownOption(`option ${name}, which ${file} sets`, name, optionNames);
  return [{ name: name as OptionName, text: textOf(node, name, file), spelling: `${name} in ${file}`, file }];
}

function textOf(node: unknown, name: string, file: string): string {
  if (node === null) return '';
  if (isScalar<string>(node)) return node.value;
  if (isSeq(node) && node.items.every((item) => isScalar<string>(item)))
    return node.items.map(({ value }) => value).join(',');
  throw new OperatorError(`${name} in ${file} must be a value or a list of values.`);
}
