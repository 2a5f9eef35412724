import { actorOf } from '../audit/audit.ts';
import { newAccessNotFound, newPermissionDenied } from '../http/access-error.ts';
import type { Call } from '../operations/operation.ts';
import { refuseLastAdministrator } from './administrators.ts';
import type { UserParts } from './user-parts.ts';

/**
 * With everything that is the user's: roles, sessions, tokens, keys; the name is retired. Throws 403 for oneself and
 * for the last administrator.
 */
export async function removeUser(call: Call, id: string, { database, users, audit, names }: UserParts): Promise<void> {
  if (id === call.caller.id) throw newPermissionDenied('You cannot delete yourself.');
  await database.transaction(async (on) => {
    await refuseLastAdministrator(id, on);
    const user = await users.lock(id, on);
    if (user === undefined) throw newAccessNotFound();
    await on.query({
      name: 'username-retire',
      text: 'INSERT INTO access.retired_usernames (username_key) VALUES ($1) ON CONFLICT (username_key) DO UPDATE SET date_retired = now()',
      values: [user.username_key],
    });
    await on.query({ name: 'user-delete', text: 'DELETE FROM access.users WHERE id = $1', values: [id] });
    await audit.operate({ ...actorOf(call), action: 'delete', resourceType: 'user', resource: user.username }, on);
  });
  await names.released();
}
