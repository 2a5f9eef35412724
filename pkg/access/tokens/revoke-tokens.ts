import { runQuery } from '#pkg/database/index';
import type { AccessDatabase } from '../access-database.ts';
import { accessQuery, currentTime } from '../access-tables.ts';
import type { Audit } from '../audit/audit.ts';

export interface RevokeTokensOptions {
  database: AccessDatabase;
  audit: Audit;
  user: { id: string; username: string };
  /** The only token to revoke. Default: all of the user. */
  name?: string | undefined;
}

/**
 * Revokes personal tokens of a user for the server's operator, from the next request on, with an audit row for each.
 * Returns the names of those that were not revoked before, in order.
 */
export function revokeTokens({ database, audit, user, name }: RevokeTokensOptions): Promise<string[]> {
  return database.transaction(async (client) => {
    let revoke = accessQuery
      .updateTable('access.personal_tokens')
      .set({ revoked: currentTime })
      .where('user_id', '=', user.id)
      .where('revoked', 'is', null)
      .returning('name');
    if (name !== undefined) revoke = revoke.where('name', '=', name);
    const { rows } = await runQuery(client, revoke);
    const names = rows.map((row) => row.name).toSorted();
    for (const resource of names)
      await audit.recordOperation(
        {
          actor: undefined,
          action: 'revoke',
          resourceType: 'personal_token',
          resource,
          detail: `of ${user.username}`,
        },
        client,
      );
    return names;
  });
}
