import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isPersonalToken } from '#pkg/identity/index';
import { OperatorError } from '../options/operator-error.ts';
import type { Options } from '../options/option-table.ts';
import { explainStartFailure } from '../process/start-failure.ts';

/**
 * Reads the personal token from the file of the option, by default the administrator's. The file contains only the
 * token.
 * @throws OperatorError that names the option
 */
export async function readTokenFile(
  options: Options,
  option: 'svc.controllers.token-file' | 'svc.access.token-file',
): Promise<string> {
  const file = options[option] ?? join(options['svc.data.dir'], 'admin-token');
  let token: string;
  try {
    token = (await readFile(file, 'utf8')).trim();
  } catch (error) {
    throw new OperatorError(
      explainStartFailure(error) ??
        `${file} holds no token: it cannot be read; set ${option} to a file with a personal token.`,
      { cause: error },
    );
  }
  if (!isPersonalToken(token))
    throw new OperatorError(`${file} holds no personal token: that is pat_, 30 letters or digits, and their checksum.`);
  return token;
}
