import { sql, type SelectQueryBuilder } from 'kysely';
import { PreparedStatement, runQuery, type Placeholders } from '#pkg/database/index';
import type { AccessDatabase } from '../access-database.ts';
import { accessQuery, currentTime, type AccessTables } from '../access-tables.ts';
import { isPerson } from '../principals/service-user.ts';

/** The fields of a user that a login needs. */
export interface LoginAccount {
  id: string;
  username: string;
  username_key: string;
  password_hash: string | null;
  /** A text, as a Date would lose precision; '' if never changed. */
  password_changed: string;
  is_active: boolean;
  is_expired: boolean;
}

/** Time of the last password change of an `access.users` row, in the format of `LoginAccount`. */
export const passwordChangedText = sql<string>`coalesce(extract(epoch FROM password_changed)::text, '')`;

const findAccount = new PreparedStatement('login-account', ($: Placeholders<{ folded: string }>) =>
  accessQuery
    .selectFrom('access.users')
    .select(['id', 'username', 'username_key', 'password_hash', 'is_active'])
    .select([
      passwordChangedText.as('password_changed'),
      sql<boolean>`coalesce(date_expired <= now(), false)`.as('is_expired'),
    ])
    .where((eb) => eb.or([eb('username_key', '=', $.folded), eb('email_key', '=', $.folded)]))
    .where(isPerson),
);

/**
 * Id of a user who may log in, locked until the end of the transaction; no row if the user is not valid, or their
 * password is not the one of `passwordChanged` (null: any).
 */
export const selectLockedOwner = (
  userId: string,
  passwordChanged: string | null,
): SelectQueryBuilder<AccessTables, 'access.users', { id: string }> =>
  accessQuery
    .selectFrom('access.users')
    .select('id')
    .where('id', '=', userId)
    .where(sql<boolean>`(${passwordChanged}::text IS NULL OR ${passwordChangedText} = ${passwordChanged})`)
    .where('is_active', '=', sql.lit(true))
    .where((eb) => eb.or([eb('date_expired', 'is', null), eb('date_expired', '>', currentTime)]))
    .forShare();

/** Reads users for logins. */
export class LoginAccounts {
  readonly #database: AccessDatabase;

  constructor(database: AccessDatabase) {
    this.#database = database;
  }

  /** Finds a person by folded username or e-mail; only the latter holds an `@`. */
  async find(folded: string): Promise<LoginAccount | undefined> {
    const { rows } = await findAccount.run(this.#database.pool, { folded });
    return rows[0];
  }

  async setLastLogin(id: string): Promise<void> {
    const update = accessQuery.updateTable('access.users').set({ last_login: currentTime }).where('id', '=', id);
    await runQuery(this.#database.pool, update, 'login-was-here');
  }

  /** Stores a new hash of the same password; does nothing if the password was changed meanwhile. */
  async rehash(id: string, { from, to }: { from: string; to: string }): Promise<void> {
    const update = accessQuery
      .updateTable('access.users')
      .set({ password_hash: to })
      .where('id', '=', id)
      .where('password_hash', '=', from);
    await runQuery(this.#database.pool, update, 'login-rehash');
  }
}
