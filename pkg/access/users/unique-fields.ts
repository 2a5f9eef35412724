import { sql } from 'kysely';
import { runQuery, type Queryable } from '#pkg/database/index';
import { isDuplicate } from '../access-database.ts';
import { accessQuery } from '../access-tables.ts';
import { newFieldErrors } from '../http/access-error.ts';

const taken = 'This field must be unique.';

/** Of a name that cannot be had: another has it, or it is not to be given. */
export const newUsernameTaken = (): Error => newFieldErrors({ username: [taken] });

/**
 * Carries out a write of a user, and turns the database's refusal of a username or an address that another one has into
 * 400 by field. Which of them it is, perhaps both, is asked after the refusal: `on` must be no transaction, as that one
 * has failed.
 */
export async function withUniqueFields<T>(
  on: Queryable,
  { id = null, username_key, email_key }: { id?: string | null; username_key: string; email_key: string | null },
  write: () => Promise<T>,
): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (!isDuplicate(error)) throw error;
    const others = accessQuery
      .selectFrom('access.users')
      .select([
        sql<boolean>`username_key = ${username_key}`.as('username'),
        sql<boolean>`coalesce(email_key = ${email_key}, false)`.as('email'),
      ])
      .where((eb) => eb.or([eb('username_key', '=', username_key), eb('email_key', '=', email_key)]))
      .where('id', 'is distinct from', id);
    const { rows } = await runQuery(on, others, 'user-duplicates');
    // Neither: whoever had it is gone by now.
    const fields = (['username', 'email'] as const).filter((field) => rows.some((row) => row[field]));
    throw newFieldErrors(
      fields.length === 0
        ? { non_field_errors: ['Try again.'] }
        : Object.fromEntries(fields.map((field) => [field, [taken]])),
    );
  }
}
