import { runQuery } from '#pkg/database/index';
import { accessQuery, currentTime } from '../access-tables.ts';
import { actorOf } from '../audit/audit.ts';
import { newAccessNotFound, newPermissionDenied } from '../http/access-error.ts';
import type { Call } from '../operations/operation.ts';
import { refuseLastAdministrator } from './refuse-last-administrator.ts';
import type { UserParts } from './user-parts.ts';

/**
 * Deletes the user with all their roles, sessions, tokens and keys, and retires the name. Throws 403 for the caller's
 * own user and the last administrator.
 */
export async function removeUser(call: Call, id: string, { database, users, audit, names }: UserParts): Promise<void> {
  if (id === call.caller.id) throw newPermissionDenied('You cannot delete yourself.');
  await database.transaction(async (on) => {
    await refuseLastAdministrator(id, on);
    const user = await users.lock(id, on);
    if (user === undefined) throw newAccessNotFound();
    const retire = accessQuery
      .insertInto('access.retired_usernames')
      .values({ username_key: user.username_key })
      .onConflict((conflict) => conflict.column('username_key').doUpdateSet({ date_retired: currentTime }));
    await runQuery(on, retire, 'username-retire');
    await runQuery(on, accessQuery.deleteFrom('access.users').where('id', '=', id), 'user-delete');
    await audit.recordOperation(
      { ...actorOf(call), action: 'delete', resourceType: 'user', resource: user.username },
      on,
    );
  });
  await names.adoptAfterRelease();
}
