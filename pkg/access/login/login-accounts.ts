import type { AccessDatabase } from '../access-database.ts';

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

/** SQL: when the password of a row of `access.users` was changed, as `LoginAccount` has it. */
export const passwordChangedText = `COALESCE(extract(epoch FROM password_changed)::text, '')`;

/** The users as the login sees them. */
export class LoginAccounts {
  readonly #database: AccessDatabase;

  constructor(database: AccessDatabase) {
    this.#database = database;
  }

  /** By folded username or e-mail: one holds no `@`, the other does. */
  async find(folded: string): Promise<LoginAccount | undefined> {
    const { rows } = await this.#database.pool.query<LoginAccount>({
      name: 'login-account',
      text: `SELECT id, username, username_key, password_hash, ${passwordChangedText} AS password_changed, is_active, COALESCE(date_expired <= now(), false) AS is_expired
        FROM access.users WHERE username_key = $1 OR email_key = $1`,
      values: [folded],
    });
    return rows[0];
  }

  async wasHere(id: string): Promise<void> {
    await this.#database.pool.query({
      name: 'login-was-here',
      text: 'UPDATE access.users SET last_login = now() WHERE id = $1',
      values: [id],
    });
  }

  /** The same password, hashed anew; nothing where it is another one by now. */
  async rehash(id: string, { from, to }: { from: string; to: string }): Promise<void> {
    await this.#database.pool.query({
      name: 'login-rehash',
      text: 'UPDATE access.users SET password_hash = $3 WHERE id = $1 AND password_hash = $2',
      values: [id, from, to],
    });
  }
}
