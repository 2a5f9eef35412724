import { sql, type SelectQueryBuilder } from 'kysely';
import { PreparedStatement, runQuery, type Placeholders } from '#pkg/database/index';
import type { AccessDatabase } from '../access-database.ts';
import { accessQuery, currentTime, type AccessTables } from '../access-tables.ts';

/** What a login needs to know of a user. */
export interface LoginAccount {
  id: string;
  username: string;
  username_key: string;
  password_hash: string | null;
  /** Text, as a Date would lose digits; '' where it never was. */
  password_changed: string;
  is_active: boolean;
  is_expired: boolean;
}

/** When the password of a row of `access.users` was changed, as `LoginAccount` has it. */
export const passwordChangedText = sql<string>`coalesce(extract(epoch FROM password_changed)::text, '')`;

const findAccount = new PreparedStatement('login-account', ($: Placeholders<{ folded: string }>) =>
  accessQuery
    .selectFrom('access.users')
    .select(['id', 'username', 'username_key', 'password_hash', 'is_active'])
    .select([
      passwordChangedText.as('password_changed'),
      sql<boolean>`coalesce(date_expired <= now(), false)`.as('is_expired'),
    ])
    .where((eb) => eb.or([eb('username_key', '=', $.folded), eb('email_key', '=', $.folded)])),
);

/**
 * Id of the user whom a login lets in, kept from change until the statement's transaction ends; no row where the user is
 * out, or has another password by now than that of `passwordChanged` (null: any).
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

/** The users as the login sees them. */
export class LoginAccounts {
  readonly #database: AccessDatabase;

  constructor(database: AccessDatabase) {
    this.#database = database;
  }

  /** By folded username or e-mail: one holds no `@`, the other does. */
  async find(folded: string): Promise<LoginAccount | undefined> {
    const { rows } = await findAccount.run(this.#database.pool, { folded });
    return rows[0];
  }

  async wasHere(id: string): Promise<void> {
    const update = accessQuery.updateTable('access.users').set({ last_login: currentTime }).where('id', '=', id);
    await runQuery(this.#database.pool, update, 'login-was-here');
  }

  /** The same password, hashed anew; nothing where it is another one by now. */
  async rehash(id: string, { from, to }: { from: string; to: string }): Promise<void> {
    const update = accessQuery
      .updateTable('access.users')
      .set({ password_hash: to })
      .where('id', '=', id)
      .where('password_hash', '=', from);
    await runQuery(this.#database.pool, update, 'login-rehash');
  }
}
