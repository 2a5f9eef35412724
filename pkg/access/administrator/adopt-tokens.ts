import type { Queryable } from '../access-database.ts';

/**
 * Gives tokens that a replica of the last release has added since the upgrade, by a name, to the user of that name; and
 * those of one user names of their own, by which the API knows them: all that were made by a start were called the
 * same.
 */
export async function adoptTokens(client: Queryable): Promise<void> {
  await client.query(
    `UPDATE access.personal_tokens t SET user_id = u.id FROM access.users u
      WHERE t.user_id IS NULL AND u.username_key = lower(t.username) AND u.username = t.username AND u.date_joined <= t.created`,
  );
  await client.query(
    `UPDATE access.personal_tokens t SET name = t.name || '-' || left(t.id::text, 8)
      WHERE EXISTS (SELECT 1 FROM access.personal_tokens o WHERE o.user_id = t.user_id AND o.name = t.name AND (o.created, o.id) < (t.created, t.id))`,
  );
}
