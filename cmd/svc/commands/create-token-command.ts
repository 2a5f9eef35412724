import { Audit, readSecretFile, ServiceTokens, serviceUsers, writeSecretFile, type Service } from '#pkg/access/index';
import { isPersonalToken, newPersonalToken } from '#pkg/identity/index';
import { withAccessDatabase } from '../composition/open-operator-database.ts';
import { withSecretErrors } from '../composition/open-secrets.ts';
import { OperatorError } from '../options/operator-error.ts';
import type { Options } from '../options/option-table.ts';

export interface CreateTokenOptions {
  /** The program that the token is for. */
  service: Service;
  /** File of the token; its content is kept, and added to the database, unless `rotates`. */
  file: string;
  /** Replaces the token in the file by a new one. The token before stays valid. */
  rotates: boolean;
  /** Revokes every other token of the program afterwards. */
  revokesOthers: boolean;
}

/**
 * Ensures that the file holds a valid personal token of the program's user, and says so on stderr; returns the exit
 * code. A new file has mode 0600.
 * @throws OperatorError for a file without a personal token, and for a token that is not valid any more
 */
export function createToken(
  options: Options,
  { service, file, rotates, revokesOthers }: CreateTokenOptions,
): Promise<number> {
  return withAccessDatabase(options, async (database) => {
    const { username } = serviceUsers[service];
    const tokens = new ServiceTokens({ database, audit: new Audit(database) });
    const present = rotates ? undefined : await readToken(file);
    const token = present ?? newPersonalToken();
    const write = async (): Promise<void> => {
      if (present === undefined) await writeFile(file, token);
    };
    const isNew = await withSecretErrors(tokens.add(service, token, write));
    process.stderr.write(
      present === undefined
        ? `Wrote a new token of ${username} into ${file}.\n`
        : `The database ${isNew ? 'has got' : 'has'} the token of ${username} in ${file}.\n`,
    );
    if (revokesOthers) {
      const count = await tokens.revokeOthers(service, token);
      process.stderr.write(`Revoked ${count} other ${count === 1 ? 'token' : 'tokens'} of ${username}.\n`);
    }
    return 0;
  });
}

/** Undefined if there is no file. */
async function readToken(file: string): Promise<string | undefined> {
  const text = (await withFileErrors('read', file, () => readSecretFile(file)))?.trim();
  if (text !== undefined && !isPersonalToken(text))
    throw new OperatorError(
      `${file} holds no personal token; name another file, or replace its content with --rotate.`,
    );
  return text;
}

const writeFile = (file: string, token: string): Promise<void> =>
  withFileErrors('written', file, () => writeSecretFile(file, token));

async function withFileErrors<T>(what: 'read' | 'written', file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new OperatorError(`${file} cannot be ${what} (${code ?? message}).`, { cause: error });
  }
}
