import type { Queryable } from '../access-database.ts';
import { newPermissionDenied } from '../http/access-error.ts';

/**
 * Throws 403 where this user administers the system, and no other does so who can come in for good: there must always
 * be somebody, and whoever has a date of expiry will be gone. Keeps all who are from change until the transaction ends:
 * of two who remove each other at once, the second finds itself alone. To be called before the transaction locks any
 * user.
 */
export async function refuseLastAdministrator(userId: string, on: Queryable): Promise<void> {
  const { rows } = await on.query<{ id: string; stays: boolean }>({
    name: 'administrators-lock',
    text: `SELECT u.id, u.date_expired IS NULL AS stays FROM access.users u JOIN access.system_role_bindings s ON s.user_id = u.id
      WHERE s.role = 'SystemAdmin' AND u.is_active AND (u.date_expired IS NULL OR u.date_expired > now())
      ORDER BY u.id FOR UPDATE OF u, s`,
    values: [],
  });
  if (rows.some(({ id }) => id === userId) && !rows.some(({ id, stays }) => stays && id !== userId))
    throw newPermissionDenied('This is the last administrator who can come in for good.');
}
