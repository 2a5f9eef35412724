import { accountKey, Audit, fold, LoginAccounts, LoginFailures } from '#pkg/access/index';
import { withAccessDatabase } from '../composition/open-operator-database.ts';
import type { Options } from '../options/option-table.ts';

/** Clears the failed logins of a username or an e-mail address, whether or not the user exists. */
export function unblock(options: Options, user: string): Promise<number> {
  return withAccessDatabase(options, async (database) => {
    const name = fold(user.trim());
    const key = accountKey(name);
    // Names that no user can have are counted under other keys.
    const account = key === `user:${name}` ? await new LoginAccounts(database).find(name) : undefined;
    // First, so that every unblock is recorded.
    await new Audit(database).recordOperation({
      actor: undefined,
      action: 'unblock',
      resourceType: 'user',
      resource: account?.username ?? user,
    });
    const failures = new LoginFailures(database);
    for (const each of new Set([key, accountKey(account?.username_key ?? name)])) await failures.clear(each);
    process.stderr.write(
      account === undefined
        ? 'There is no such user; failed logins with this name are reset.\n'
        : `Failed logins of ${account.username} are reset.\n`,
    );
    return 0;
  });
}
