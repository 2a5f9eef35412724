import { Audit, fold, LoginAccounts, revokeTokens as revokeTokensOf } from '#pkg/access/index';
import { withAccessDatabase } from '../composition/open-operator-database.ts';
import { OperatorError } from '../options/operator-error.ts';
import type { Options } from '../options/option-table.ts';

/**
 * Revokes the personal tokens of a person, or the one with this name, and says on stderr which.
 * @throws OperatorError for an unknown user
 */
export function revokeTokens(options: Options, user: string, name?: string): Promise<number> {
  return withAccessDatabase(options, async (database) => {
    const account = await new LoginAccounts(database).find(fold(user.trim()));
    if (account === undefined) throw new OperatorError(`There is no user ${JSON.stringify(user)}.`);
    const names = await revokeTokensOf({ database, audit: new Audit(database), user: account, name });
    process.stderr.write(
      names.length === 0
        ? `${account.username} has no such personal token that is not revoked.\n`
        : `Revoked ${names.length} personal ${names.length === 1 ? 'token' : 'tokens'} of ${account.username}: ${names.join(', ')}.\n`,
    );
    return 0;
  });
}
