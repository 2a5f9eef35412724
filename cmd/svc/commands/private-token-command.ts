import { Audit, PrivateTokens, SecretBox } from '#pkg/access/index';
import { withAccessDatabase } from '../composition/open-operator-database.ts';
import { withSecretErrors, openNeededSecrets } from '../composition/open-secrets.ts';
import type { Options } from '../options/option-table.ts';

export type PrivateTokenVerb = 'show' | 'create' | 'rotate' | 'delete';

/**
 * Prints the resulting token, and nothing else, to stdout.
 * @throws OperatorError for an unknown user, and for a token that already exists or does not exist
 */
export function privateToken(options: Options, verb: PrivateTokenVerb, user: string): Promise<number> {
  return withAccessDatabase(options, async (database) => {
    const box = new SecretBox(await openNeededSecrets(database, options));
    const tokens = new PrivateTokens({ database, box, audit: new Audit(database) });
    const token = await withSecretErrors<string | void>(tokens[verb](user));
    if (token !== undefined) process.stdout.write(`${token}\n`);
    else process.stderr.write('The private token is deleted.\n');
    return 0;
  });
}
