import type { AccessDatabase, Queryable } from '../access-database.ts';
import { rootOrgId } from '../orgs/organization.ts';
import { isUuid } from '../operations/uuid.ts';
import { fold } from '../names/fold-case.ts';
import { userColumns, type UserRow, type UserWithRoles } from './user.ts';

/** All but `search_text`. */
const rowColumns = `id, username, username_key, name, email, email_key, password_hash, password_changed, is_active, date_joined, date_expired, last_login, source,
  created_by, comment, groups`;

/** Users as they are stored. */
export class Users {
  readonly #database: AccessDatabase;

  constructor(database: AccessDatabase) {
    this.#database = database;
  }

  async find(id: string, on: Queryable = this.#database.pool): Promise<UserRow | undefined> {
    const { rows } = await on.query<UserRow>({
      name: 'user',
      text: `SELECT ${rowColumns} FROM access.users WHERE id = $1`,
      values: [id],
    });
    return rows[0];
  }

  /** The same, kept from change by others until the transaction ends. */
  async lock(id: string, on: Queryable): Promise<UserRow | undefined> {
    // At once as strongly as a change of the e-mail address needs it: two that both asked for more later would wait for
    // each other.
    const { rows } = await on.query<UserRow>({
      name: 'user-lock',
      text: `SELECT ${rowColumns} FROM access.users WHERE id = $1 FOR UPDATE`,
      values: [id],
    });
    return rows[0];
  }

  /** Id of the user who has this id or username. */
  async resolve(text: string): Promise<string | undefined> {
    if (isImpossible(text)) return undefined;
    const column = isUuid(text) ? 'id' : 'username_key';
    const { rows } = await this.#database.pool.query<{ id: string }>({
      name: `user-id-by-${column}`,
      text: `SELECT id FROM access.users WHERE ${column} = $1`,
      values: [column === 'id' ? text : fold(text)],
    });
    return rows[0]?.id;
  }

  /** With what a record needs; of a member of the organization only, where it is not ROOT. */
  async findRecord(
    id: string,
    orgId: string = rootOrgId,
    on: Queryable = this.#database.pool,
  ): Promise<UserWithRoles | undefined> {
    const { rows } = await on.query<UserWithRoles>({
      name: 'user-record',
      text: `SELECT ${userColumns} FROM access.users u
        WHERE u.id = $1 AND ($2 = '${rootOrgId}'::uuid OR EXISTS (SELECT 1 FROM access.org_role_bindings m WHERE m.org_id = $2 AND m.user_id = u.id))`,
      values: [id, orgId],
    });
    return rows[0];
  }
}

/** What no database takes; nobody is called so. */
function isImpossible(text: string): boolean {
  return text.length > 512 || /[\0\p{Cs}]/u.test(text);
}
