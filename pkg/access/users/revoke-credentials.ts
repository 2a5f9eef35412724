import { Type } from 'typebox';
import { runQuery, type Queryable } from '#pkg/database/index';
import { accessQuery, currentTime } from '../access-tables.ts';
import { actorOf, type Audit } from '../audit/audit.ts';
import type { Call } from '../operations/operation.ts';
import { flag } from '../operations/field-schemas.ts';
import type { UserRow } from './user.ts';

/** Fields for the body of a call that sets a password. */
export const revocationFields = (isDefault: string) => ({
  [revokeField]: Type.Optional(
    flag({
      description: `With a new password: ends all personal tokens, access keys and the private token, too. ${isDefault}`,
    }),
  ),
});
export const revokeField = 'revoke_credentials';

/** Queries that revoke credentials, with their audit action and type. */
const endings = [
  {
    action: 'revoke',
    resourceType: 'personal_token',
    name: 'tokens-revoke-of-user',
    end: (userId: string) =>
      accessQuery
        .updateTable('access.personal_tokens')
        .set({ revoked: currentTime })
        .where('user_id', '=', userId)
        .where('revoked', 'is', null)
        .returning('name as resource'),
  },
  {
    action: 'delete',
    resourceType: 'access_key',
    name: 'access-keys-delete-of-user',
    end: (userId: string) =>
      accessQuery.deleteFrom('access.access_keys').where('user_id', '=', userId).returning('id as resource'),
  },
  {
    action: 'delete',
    resourceType: 'private_token',
    name: 'private-token-delete-of-user',
    end: (userId: string) =>
      accessQuery
        .deleteFrom('access.private_tokens as t')
        .using('access.users as u')
        .whereRef('u.id', '=', 't.user_id')
        .where('t.user_id', '=', userId)
        .returning('u.username as resource'),
  },
] as const;

/**
 * Revokes the credentials that a new password alone does not end: personal tokens, access keys and the private token,
 * each with an audit row. The user must be locked.
 */
export async function revokeCredentials(
  { id, username }: Pick<UserRow, 'id' | 'username'>,
  call: Call,
  { audit }: { audit: Pick<Audit, 'recordOperation'> },
  on: Queryable,
): Promise<void> {
  for (const { action, resourceType, name, end } of endings) {
    const { rows } = await runQuery<{ resource: string }>(on, end(id), name);
    for (const { resource } of rows)
      await audit.recordOperation(
        { ...actorOf(call), action, resourceType, resource, detail: `of ${username}, with a new password` },
        on,
      );
  }
}
