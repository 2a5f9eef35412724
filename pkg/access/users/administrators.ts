import { sql } from 'kysely';
import { runQuery, type Queryable } from '#pkg/database/index';
import { accessQuery, currentTime } from '../access-tables.ts';
import { newPermissionDenied } from '../http/access-error.ts';

/**
 * Throws 403 where this user administers the system, and no other does so who can come in for good: there must always
 * be somebody, and whoever has a date of expiry will be gone. Keeps all who are from change until the transaction ends:
 * of two who remove each other at once, the second finds itself alone. To be called before the transaction locks any
 * user.
 */
export async function refuseLastAdministrator(userId: string, on: Queryable): Promise<void> {
  const administrators = accessQuery
    .selectFrom('access.users as u')
    .innerJoin('access.system_role_bindings as s', 's.user_id', 'u.id')
    .select(['u.id', sql<boolean>`u.date_expired IS NULL`.as('stays')])
    // Not a parameter: there is an index of them.
    .where('s.role', '=', sql.lit('SystemAdmin'))
    .where('u.is_active', '=', sql.lit(true))
    .where((eb) => eb.or([eb('u.date_expired', 'is', null), eb('u.date_expired', '>', currentTime)]))
    .orderBy('u.id')
    .forUpdate(['u', 's']);
  const { rows } = await runQuery(on, administrators, 'administrators-lock');
  if (rows.some(({ id }) => id === userId) && !rows.some(({ id, stays }) => stays && id !== userId))
    throw newPermissionDenied('This is the last administrator who can come in for good.');
}
