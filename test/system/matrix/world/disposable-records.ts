import { randomBytes } from 'node:crypto';
import type pg from 'pg';

export interface Throwaway {
  readonly id: string;
  remove(): Promise<void>;
}

export interface Making {
  readonly what: 'user' | 'member' | 'session';
  /** The caller. */
  readonly userId: string;
}

/** Records that a request may delete. Created by SQL, because the API would be slower. */
export class DisposableRecords {
  readonly #pool: pg.Pool;
  readonly #org: string;

  /** Members belong to this organization. */
  constructor(pool: pg.Pool, org: string) {
    this.#pool = pool;
    this.#org = org;
  }

  /** The id of the user, of a membership's binding, or of a session of the given user. */
  async make({ what, userId }: Making): Promise<Throwaway> {
    return what === 'session' ? this.#makeSession(userId) : this.#makeUser(what);
  }

  async #makeSession(userId: string): Promise<Throwaway> {
    const insert =
      "INSERT INTO access.sessions (hash, user_id, expires) VALUES ($1, $2, now() + interval '1 minute') RETURNING id";
    const { rows } = await this.#pool.query<{ id: string }>(insert, [randomBytes(32), userId]);
    const { id } = rows[0]!;
    return { id, remove: () => this.#remove('sessions', id) };
  }

  async #makeUser(what: 'user' | 'member'): Promise<Throwaway> {
    const username = `throwaway-${randomBytes(8).toString('hex')}`;
    const { rows } = await this.#pool.query<{ user_id: string; id: string }>(
      `WITH made AS (INSERT INTO access.users (username, username_key, name, search_text) VALUES ($1, $1, $1, $1) RETURNING id)
        INSERT INTO access.org_role_bindings (user_id, org_id, role) SELECT id, $2, 'OrgUser' FROM made RETURNING user_id, id`,
      [username, this.#org],
    );
    const { user_id: userId, id } = rows[0]!;
    return { id: what === 'user' ? userId : id, remove: () => this.#remove('users', userId) };
  }

  async #remove(table: 'users' | 'sessions', id: string): Promise<void> {
    await this.#pool.query(`DELETE FROM access.${table} WHERE id = $1`, [id]);
  }
}
