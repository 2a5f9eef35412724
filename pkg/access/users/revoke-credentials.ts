import { Type } from 'typebox';
import type { Queryable } from '../access-database.ts';
import { actorOf, type Audit, type OperateEntry } from '../audit/audit.ts';
import type { Call } from '../operations/operation.ts';
import { flag } from '../operations/field-schemas.ts';
import type { UserRow } from './user.ts';

/** In the body of a call that sets a password. */
export const revocationFields = (isDefault: string) => ({
  [revokeField]: Type.Optional(
    flag({
      description: `With a new password: ends all personal tokens, access keys and the private token, too. ${isDefault}`,
    }),
  ),
});
export const revokeField = 'revoke_credentials';

/** What each statement ends, in the words of the audit. */
const endings: readonly { action: OperateEntry['action']; resourceType: string; name: string; text: string }[] = [
  {
    action: 'revoke',
    resourceType: 'personal_token',
    name: 'tokens-revoke-of-user',
    text: 'UPDATE access.personal_tokens SET revoked = now() WHERE user_id = $1 AND revoked IS NULL RETURNING name AS resource',
  },
  {
    action: 'delete',
    resourceType: 'access_key',
    name: 'access-keys-delete-of-user',
    text: 'DELETE FROM access.access_keys WHERE user_id = $1 RETURNING id::text AS resource',
  },
  {
    action: 'delete',
    resourceType: 'private_token',
    name: 'private-token-delete-of-user',
    text: 'WITH gone AS (DELETE FROM access.private_tokens WHERE user_id = $1 RETURNING user_id) SELECT u.username AS resource FROM gone JOIN access.users u ON u.id = gone.user_id',
  },
];

/**
 * Ends what a new password alone does not: personal tokens, access keys and the private token, each with its row of the
 * audit. The user must be locked.
 */
export async function revokeCredentials(
  { id, username }: Pick<UserRow, 'id' | 'username'>,
  call: Call,
  { audit }: { audit: Pick<Audit, 'operate'> },
  on: Queryable,
): Promise<void> {
  for (const { action, resourceType, name, text } of endings) {
    const { rows } = await on.query<{ resource: string }>({ name, text, values: [id] });
    for (const { resource } of rows)
      await audit.operate(
        { ...actorOf(call), action, resourceType, resource, detail: `of ${username}, with a new password` },
        on,
      );
  }
}
