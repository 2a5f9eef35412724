import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { runQuery, type Queryable } from '#pkg/database/index';
import type { AccessDatabase } from '../access-database.ts';
import { accessQuery } from '../access-tables.ts';
import type { Audit, OperationEntry } from '../audit/audit.ts';
import { newAuthenticationFailed } from '../http/access-error.ts';
import { randomText } from '../secrets/random-text.ts';
import type { SecretBox } from '../secrets/secret-box.ts';
import { sealedTables } from '../secrets/sealed-tables.ts';
import { isKeyId } from './signature-claim.ts';

/** Maximum number of keys of a user. */
export const maxAccessKeys = 10;

const columns = ['id', 'ip_group', 'is_active', 'date_created', 'date_last_used'] as const;

/** A key without its secret. */
export interface AccessKey {
  readonly id: string;
  /** Client addresses that may use it: `ip-group.ts`. */
  readonly ipGroup: readonly string[];
  readonly isActive: boolean;
  readonly dateCreated: Date;
  /** Accurate to the minute; null: never used. */
  readonly dateLastUsed: Date | null;
}

export type AccessKeySettings = Pick<AccessKey, 'ipGroup' | 'isActive'>;

/** The owner of the keys, and the client's address: `actorOf(call)`. */
export type KeyOwner = Pick<OperationEntry, 'address' | 'requestId'> & {
  readonly actor: { readonly id: string; readonly username: string };
};

interface KeyRow {
  id: string;
  ip_group: string[];
  is_active: boolean;
  date_created: Date;
  date_last_used: Date | null;
}

/**
 * The access keys of users. Another user's key counts as missing. Every change is one transaction with its audit row.
 */
export class AccessKeys {
  readonly #database: AccessDatabase;
  readonly #secrets: SecretBox;
  readonly #audit: Audit;

  constructor({ database, secrets, audit }: { database: AccessDatabase; secrets: SecretBox; audit: Audit }) {
    this.#database = database;
    this.#secrets = secrets;
    this.#audit = audit;
  }

  /** Oldest first. */
  async list(userId: string): Promise<AccessKey[]> {
    const keys = accessQuery
      .selectFrom('access.access_keys')
      .select(columns)
      .where('user_id', '=', userId)
      .orderBy('date_created')
      .orderBy('id');
    const { rows } = await runQuery(this.#database.pool, keys, 'access-keys-of-user');
    return rows.map(present);
  }

  async find(userId: string, id: string): Promise<AccessKey | undefined> {
    return (await this.list(userId)).find((key) => key.id === id.toLowerCase());
  }

  /** Returns the secret, which cannot be read again. Undefined if the user has the maximum number of keys. */
  create(
    owner: KeyOwner,
    { ipGroup, isActive }: AccessKeySettings,
  ): Promise<{ key: AccessKey; secret: string } | undefined> {
    const id = randomUUID();
    const secret = randomText(36);
    const sealed = this.#secrets.seal(secret, sealedTables.accessKeys.purposeOf(id));
    return this.#database.transaction(async (client) => {
      // Locked, so that the second of two concurrent creations counts the key of the first.
      const { rows: users } = await runQuery(
        client,
        accessQuery.selectFrom('access.users').select('id').where('id', '=', owner.actor.id).forNoKeyUpdate(),
      );
      // The user was deleted during the request.
      if (users.length === 0) throw newAuthenticationFailed();
      const count = accessQuery
        .selectFrom('access.access_keys')
        .select((eb) => eb.fn.countAll<number>().as('count'))
        .where('user_id', '=', owner.actor.id);
      const insert = accessQuery
        .insertInto('access.access_keys')
        .columns(['id', 'user_id', 'secret', 'ip_group', 'is_active'])
        .expression(
          accessQuery
            .selectNoFrom((row) => [
              row.val(id).as('id'),
              row.val(owner.actor.id).as('user_id'),
              row.val(sealed).as('secret'),
              sql.val([...ipGroup]).as('ip_group'),
              row.val(isActive).as('is_active'),
            ])
            .where(count, '<', maxAccessKeys),
        )
        .returning(columns);
      const { rows } = await runQuery(client, insert);
      if (rows[0] === undefined) return undefined;
      await this.#record(client, owner, { action: 'create', resource: id });
      return { key: present(rows[0]), secret };
    });
  }

  /** Undefined if there is no such key. */
  async update(
    owner: KeyOwner,
    id: string,
    { ipGroup, isActive }: Partial<AccessKeySettings>,
  ): Promise<AccessKey | undefined> {
    if (!isKeyId(id)) return undefined;
    return this.#database.transaction(async (client) => {
      const update = accessQuery
        .updateTable('access.access_keys')
        .set({
          ip_group: sql`coalesce(${ipGroup ?? null}, ip_group)`,
          is_active: sql`coalesce(${isActive ?? null}, is_active)`,
        })
        .where('id', '=', id)
        .where('user_id', '=', owner.actor.id)
        .returning(columns);
      const { rows } = await runQuery(client, update);
      if (rows[0] === undefined) return undefined;
      const detail = [
        ...(ipGroup === undefined ? [] : ['ip_group']),
        ...(isActive === undefined ? [] : [`is_active: ${isActive}`]),
      ].join(', ');
      await this.#record(client, owner, { action: 'update', resource: rows[0].id, detail });
      return present(rows[0]);
    });
  }

  /** False if there is no such key. */
  async delete(owner: KeyOwner, id: string): Promise<boolean> {
    if (!isKeyId(id)) return false;
    return this.#database.transaction(async (client) => {
      const remove = accessQuery
        .deleteFrom('access.access_keys')
        .where('id', '=', id)
        .where('user_id', '=', owner.actor.id)
        .returning('id');
      const { rows } = await runQuery(client, remove);
      if (rows[0] !== undefined) await this.#record(client, owner, { action: 'delete', resource: rows[0].id });
      return rows[0] !== undefined;
    });
  }

  #record(
    client: Queryable,
    owner: KeyOwner,
    entry: Pick<OperationEntry, 'action' | 'resource' | 'detail'>,
  ): Promise<void> {
    return this.#audit.recordOperation({ ...owner, ...entry, resourceType: 'access_key' }, client);
  }
}

function present({
  id,
  ip_group: ipGroup,
  is_active: isActive,
  date_created: dateCreated,
  date_last_used: dateLastUsed,
}: KeyRow): AccessKey {
  return { id, ipGroup, isActive, dateCreated, dateLastUsed };
}
