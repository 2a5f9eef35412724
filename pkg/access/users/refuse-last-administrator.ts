import { sql } from 'kysely';
import { runQuery, type Queryable } from '#pkg/database/index';
import { accessQuery, currentTime } from '../access-tables.ts';
import { newPermissionDenied } from '../http/access-error.ts';

/**
 * Throws 403 if this user is a valid SystemAdmin and there is no other one without an expiry date, as one must always
 * remain. Locks all valid administrators until the transaction ends: if two remove each other at the same time, the
 * second is refused. Call it before the transaction locks any user.
 */
export async function refuseLastAdministrator(userId: string, on: Queryable): Promise<void> {
  const administrators = accessQuery
    .selectFrom('access.users as u')
    .innerJoin('access.system_role_bindings as s', 's.user_id', 'u.id')
    .select(['u.id', sql<boolean>`u.date_expired IS NULL`.as('stays')])
    // A literal, to use the partial index.
    .where('s.role', '=', sql.lit('SystemAdmin'))
    .where('u.is_active', '=', sql.lit(true))
    .where((eb) => eb.or([eb('u.date_expired', 'is', null), eb('u.date_expired', '>', currentTime)]))
    .orderBy('u.id')
    .forUpdate(['u', 's']);
  const { rows } = await runQuery(on, administrators, 'administrators-lock');
  if (rows.some(({ id }) => id === userId) && !rows.some(({ id, stays }) => stays && id !== userId))
    throw newPermissionDenied('This is the last administrator who can come in for good.');
}
