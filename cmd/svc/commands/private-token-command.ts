import { Audit, PrivateTokens, SecretBox } from '#pkg/access/index';
import { onDatabase } from '../composition/open-operator-database.ts';
import { withSecretErrors, openNeededSecrets } from '../composition/open-secrets.ts';
import type { Options } from '../options/option-table.ts';

export type PrivateTokenVerb = 'show' | 'create' | 'rotate' | 'delete';

/**
 * Prints the token that is there afterwards, alone on stdout. Throws OperatorError for a user that is not there, and a
 * token that is not or is.
 */
export function privateToken(options: Options, verb: PrivateTokenVerb, user: string): Promise<number> {
  return onDatabase(options, async (database) => {
    const box = new SecretBox(await openNeededSecrets(database, options));
    const tokens = new PrivateTokens({ database, box, audit: new Audit(database) });
    const token = await withSecretErrors<string | void>(tokens[verb](user));
    if (token !== undefined) process.stdout.write(`${token}\n`);
    else process.stderr.write('The private token is deleted.\n');
    return 0;
  });
}
