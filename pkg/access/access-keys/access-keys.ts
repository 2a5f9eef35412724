import { randomUUID } from 'node:crypto';
import type { AccessDatabase, Queryable } from '../access-database.ts';
import type { Audit, OperateEntry } from '../audit/audit.ts';
import { newAuthenticationFailed } from '../http/access-error.ts';
import { randomText } from '../secrets/random-text.ts';
import type { SecretBox } from '../secrets/secret-box.ts';
import { sealedTables } from '../secrets/sealed-tables.ts';
import { isKeyId } from './signature-claim.ts';

/** How many a user may have. */
export const maxAccessKeys = 10;

const columns = 'id, ip_group, is_active, date_created, date_last_used';

/** What may be told of a key. */
export interface AccessKey {
  readonly id: string;
  /** From where it may be used: `ip-group.ts`. */
  readonly ipGroup: readonly string[];
  readonly isActive: boolean;
  readonly dateCreated: Date;
  /** To the minute; null: never. */
  readonly dateLastUsed: Date | null;
}

export type AccessKeySettings = Pick<AccessKey, 'ipGroup' | 'isActive'>;

/** Whose keys they are, and from where they ask: `actorOf(call)`. */
export type KeyOwner = Pick<OperateEntry, 'address' | 'requestId'> & {
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
 * Access keys, each user's own; another's is as one that is not there. Every change is one transaction with its row of
 * the audit.
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

  /** The oldest first. */
  async list(userId: string): Promise<AccessKey[]> {
    const { rows } = await this.#database.pool.query<KeyRow>({
      name: 'access-keys-of-user',
      text: `SELECT ${columns} FROM access.access_keys WHERE user_id = $1 ORDER BY date_created, id`,
      values: [userId],
    });
    return rows.map(present);
  }

  async find(userId: string, id: string): Promise<AccessKey | undefined> {
    return (await this.list(userId)).find((key) => key.id === id.toLowerCase());
  }

  /** The secret is told now and never again. Undefined where the user has as many as may be. */
  create(
    owner: KeyOwner,
    { ipGroup, isActive }: AccessKeySettings,
  ): Promise<{ key: AccessKey; secret: string } | undefined> {
    const id = randomUUID();
    const secret = randomText(36);
    const sealed = this.#secrets.seal(secret, sealedTables.accessKeys.purposeOf(id));
    return this.#database.transaction(async (client) => {
      // Of two creations at once, the second counts what the first has made.
      const { rows: users } = await client.query('SELECT 1 FROM access.users WHERE id = $1 FOR NO KEY UPDATE', [
        owner.actor.id,
      ]);
      // Deleted while they asked.
      if (users.length === 0) throw newAuthenticationFailed();
      const { rows } = await client.query<KeyRow>(
        `INSERT INTO access.access_keys (id, user_id, secret, ip_group, is_active)
          SELECT $1, $2, $3, $4, $5 WHERE (SELECT count(*) FROM access.access_keys WHERE user_id = $2) < $6 RETURNING ${columns}`,
        [id, owner.actor.id, sealed, ipGroup, isActive, maxAccessKeys],
      );
      if (rows[0] === undefined) return undefined;
      await this.#record(client, owner, { action: 'create', resource: id });
      return { key: present(rows[0]), secret };
    });
  }

  /** Undefined where there is no such key. */
  async update(
    owner: KeyOwner,
    id: string,
    { ipGroup, isActive }: Partial<AccessKeySettings>,
  ): Promise<AccessKey | undefined> {
    if (!isKeyId(id)) return undefined;
    return this.#database.transaction(async (client) => {
      const { rows } = await client.query<KeyRow>(
        `UPDATE access.access_keys SET ip_group = coalesce($3, ip_group), is_active = coalesce($4, is_active) WHERE id = $1 AND user_id = $2 RETURNING ${columns}`,
        [id, owner.actor.id, ipGroup ?? null, isActive ?? null],
      );
      if (rows[0] === undefined) return undefined;
      const detail = [
        ...(ipGroup === undefined ? [] : ['ip_group']),
        ...(isActive === undefined ? [] : [`is_active: ${isActive}`]),
      ].join(', ');
      await this.#record(client, owner, { action: 'update', resource: rows[0].id, detail });
      return present(rows[0]);
    });
  }

  /** False where there is no such key. */
  async delete(owner: KeyOwner, id: string): Promise<boolean> {
    if (!isKeyId(id)) return false;
    return this.#database.transaction(async (client) => {
      const { rows } = await client.query<{ id: string }>(
        'DELETE FROM access.access_keys WHERE id = $1 AND user_id = $2 RETURNING id',
        [id, owner.actor.id],
      );
      if (rows[0] !== undefined) await this.#record(client, owner, { action: 'delete', resource: rows[0].id });
      return rows[0] !== undefined;
    });
  }

  #record(
    client: Queryable,
    owner: KeyOwner,
    entry: Pick<OperateEntry, 'action' | 'resource' | 'detail'>,
  ): Promise<void> {
    return this.#audit.operate({ ...owner, ...entry, resourceType: 'access_key' }, client);
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
