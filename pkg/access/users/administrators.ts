import type { Queryable } from '../access-database.ts';
import { newPermissionDenied } from '../http/access-error.ts';

/**
 * Throws 403 where this user is the only one left who administers the system and can come in: there must always be somebody.
 * Keeps all who are from change until the transaction ends: of two who remove each other at once, the second finds itself alone.
 * To be called before the transaction locks any user.
 */
export async function refuseLastAdministrator(userId: string, on: Queryable): Promise<void> {
  const { rows } = await on.query<{ id: string }>({
    name: 'administrators-lock',
    text: `SELECT u.id FROM access.users u JOIN access.system_role_bindings s ON s.user_id = u.id
      WHERE s.role = 'SystemAdmin' AND u.is_active AND (u.date_expired IS NULL OR u.date_expired > now())
      ORDER BY u.id FOR UPDATE OF u, s`,
    values: [],
  });
  if (rows.length === 1 && rows[0]!.id === userId) throw newPermissionDenied('This is the last administrator who can come in.');
}
