import { sql } from 'kysely';
import { PreparedStatement, runQuery, type Placeholders, type Queryable } from '#pkg/database/index';
import type { AccessDatabase } from '../access-database.ts';
import { accessQuery } from '../access-tables.ts';
import { rootOrgId } from '../orgs/organization.ts';
import { isUuid } from '../operations/uuid.ts';
import { fold } from '../names/fold-case.ts';
import { isPerson } from '../principals/service-user.ts';
import { isMemberOf, userColumns, type UserRow, type UserWithRoles } from './user.ts';

const userRows = accessQuery
  .selectFrom('access.users')
  .select(['id', 'username', 'username_key', 'name', 'email', 'email_key', 'password_hash', 'password_changed'])
  .select(['is_active', 'date_joined', 'date_expired', 'last_login', 'source', 'created_by', 'comment', 'groups'])
  .where(isPerson);

const findRecord = new PreparedStatement('user-record', ($: Placeholders<{ id: string; orgId: string }>) =>
  accessQuery
    .selectFrom('access.users as u')
    .select(userColumns)
    .where('u.id', '=', $.id)
    .where(isPerson)
    .where(sql<boolean>`(${$.orgId}::uuid = ${sql.lit(rootOrgId)} OR ${isMemberOf($.orgId)})`),
);

/** Reads people from the database; users of services count as absent. */
export class Users {
  readonly #database: AccessDatabase;

  constructor(database: AccessDatabase) {
    this.#database = database;
  }

  async find(id: string, on: Queryable = this.#database.pool): Promise<UserRow | undefined> {
    return (await runQuery(on, userRows.where('id', '=', id), 'user')).rows[0];
  }

  /** Finds the user and locks the row until the transaction ends. */
  async lock(id: string, on: Queryable): Promise<UserRow | undefined> {
    // The strongest lock that a change of the e-mail address needs, to avoid deadlocks by later lock upgrades.
    return (await runQuery(on, userRows.where('id', '=', id).forUpdate(), 'user-lock')).rows[0];
  }

  /** Id of the user who has this id or username. */
  async resolve(text: string): Promise<string | undefined> {
    if (isImpossible(text)) return undefined;
    const ids = accessQuery.selectFrom('access.users').select('id').where(isPerson);
    const { rows } = await (isUuid(text)
      ? runQuery(this.#database.pool, ids.where('id', '=', text), 'user-id-by-id')
      : runQuery(this.#database.pool, ids.where('username_key', '=', fold(text)), 'user-id-by-username_key'));
    return rows[0]?.id;
  }

  /** The data of a record, only if the user is a member of the organization, unless it is ROOT. */
  async findRecord(
    id: string,
    orgId: string = rootOrgId,
    on: Queryable = this.#database.pool,
  ): Promise<UserWithRoles | undefined> {
    const { rows } = await findRecord.run(on, { id, orgId });
    return rows[0];
  }
}

/** No user has such a name, and PostgreSQL would refuse the text. */
function isImpossible(text: string): boolean {
  return text.length > 512 || /[\0\p{Cs}]/u.test(text);
}
