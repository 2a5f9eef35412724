import { readFileSync } from 'node:fs';
import { OperatorError } from './operator-error.ts';
import { optionTable, type OptionName } from './option-table.ts';

/**
 * Options that name a file with the value of another option. It is read here once, at the start; the database reads
 * user and password of its urls again.
 */
const valueOfFile = {
  'svc.database.url-file': 'svc.database.url',
  'svc.database.read-url-file': 'svc.database.read-url',
  'svc.security.initial-admin-token-file': 'svc.security.initial-admin-token',
  'svc.security.controller-manager-token-file': 'svc.security.controller-manager-token',
  'svc.security.access-server-token-file': 'svc.security.access-server-token',
  'svc.security.initial-admin-password-file': 'svc.security.initial-admin-password',
} as const satisfies Partial<Record<OptionName, OptionName>>;

const maxFileBytes = 64 * 1024;

/**
 * Sets the options whose values are in files, without the line end of a file.
 * @throws OperatorError that names the option and the file, and does not contain the value
 */
export function readSecretFiles(values: Map<OptionName, unknown>): void {
  for (const [option, target] of Object.entries(valueOfFile) as [keyof typeof valueOfFile, OptionName][]) {
    const file = values.get(option) as string | undefined;
    if (file === undefined) continue;
    if (values.get(target) !== undefined) throw new OperatorError(`${target} and ${option} are both set; remove one.`);
    const value = optionTable[target].type.parse(readValue(option, file));
    if (value === undefined || value === '')
      throw new OperatorError(`${option} holds no value for ${target}: ${file}.`);
    values.set(target, value);
  }
}

function readValue(option: string, file: string): string {
  let content: Buffer;
  try {
    content = readFileSync(file);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new OperatorError(`${option} cannot be read: ${file} (${code ?? message}).`, { cause: error });
  }
  if (content.length > maxFileBytes)
    throw new OperatorError(`${option} holds more than one value: ${file} has ${content.length} bytes.`);
  return content.toString('utf8').trim();
}
