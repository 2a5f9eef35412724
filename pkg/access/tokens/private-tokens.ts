import { randomBytes } from 'node:crypto';
import type { AccessDatabase, Queryable } from '../access-database.ts';
import type { Audit, OperateEntry } from '../audit/audit.ts';
import type { SecretBox } from '../secrets/secret-box.ts';
import { sealedTables } from '../secrets/sealed-tables.ts';
import { FreshLookup } from '../principals/fresh-lookup.ts';
import { fold } from '../names/fold-case.ts';
import { PrivateTokenError } from './private-token-error.ts';

const { purposeOf, lookupPurpose } = sealedTables.privateTokens;
const form = /^[0-9a-f]{40}$/;

export interface PrivateTokenParts {
  database: AccessDatabase;
  box: SecretBox;
  audit: Audit;
}

/**
 * Permanent tokens, one for a user: 40 hexadecimal characters. They are sealed, as the server's operator may read them
 * again, and looked up by a keyed hash. What names a user takes the username, folded; it throws PrivateTokenError with
 * a sentence where it cannot be done, and leaves a row of the audit where it was.
 */
export class PrivateTokens {
  readonly #database: AccessDatabase;
  readonly #box: SecretBox;
  readonly #audit: Audit;
  readonly #owners = new FreshLookup<string | undefined>((token) => this.#lookUp(token));

  constructor({ database, box, audit }: PrivateTokenParts) {
    this.#database = database;
    this.#box = box;
    this.#audit = audit;
  }

  /** Id of the user whose token this is, be the user valid or not; notes its use, to the minute. */
  async findOwner(token: string): Promise<string | undefined> {
    return form.test(token) ? this.#owners.get(token) : undefined;
  }

  /** Refuses where there is one: who needs that token must not lose it. */
  create(username: string): Promise<string> {
    return this.#change(username, 'create', async (client, user) => {
      const { values, token } = this.#make(user.id);
      const { rowCount } = await client.query(
        'INSERT INTO access.private_tokens (user_id, secret, lookup) VALUES ($1, $2, $3) ON CONFLICT (user_id) DO NOTHING',
        values,
      );
      if (rowCount === 0) throw new PrivateTokenError('exists', user.username);
      return token;
    });
  }

  /** The one there is. */
  show(username: string): Promise<string> {
    return this.#change(username, 'show', async (client, user) => {
      const { rows } = await client.query<{ secret: Buffer }>(
        'SELECT secret FROM access.private_tokens WHERE user_id = $1',
        [user.id],
      );
      if (rows[0] === undefined) throw new PrivateTokenError('none', user.username);
      return this.#box.open(rows[0].secret, purposeOf(user.id));
    });
  }

  /** A new one for the one there is, which is dead from the next request on. */
  rotate(username: string): Promise<string> {
    return this.#change(username, 'rotate', async (client, user) => {
      const { values, token } = this.#make(user.id);
      const { rowCount } = await client.query(
        'UPDATE access.private_tokens SET secret = $2, lookup = $3, date_created = now(), date_last_used = NULL WHERE user_id = $1',
        values,
      );
      if (rowCount === 0) throw new PrivateTokenError('none', user.username);
      return token;
    });
  }

  delete(username: string): Promise<void> {
    return this.#change(username, 'delete', async (client, user) => {
      const { rowCount } = await client.query('DELETE FROM access.private_tokens WHERE user_id = $1', [user.id]);
      if (rowCount === 0) throw new PrivateTokenError('none', user.username);
    });
  }

  #make(userId: string): { token: string; values: [string, Buffer, Buffer] } {
    const token = randomBytes(20).toString('hex');
    // The hash after the seal: both are of the same key then.
    const sealed = this.#box.seal(token, purposeOf(userId));
    return { token, values: [userId, sealed, this.#box.lookup(token, lookupPurpose)] };
  }

  /** Change and audit, both or neither; of two at once for one user the second sees what the first has done. */
  #change<T>(
    username: string,
    action: OperateEntry['action'],
    work: (client: Queryable, user: { id: string; username: string }) => Promise<T>,
  ): Promise<T> {
    return this.#database.transaction(async (client) => {
      const { rows } = await client.query<{ id: string; username: string }>(
        'SELECT id, username FROM access.users WHERE username_key = $1 FOR NO KEY UPDATE',
        [fold(username)],
      );
      const [user] = rows;
      if (user === undefined) throw new PrivateTokenError('unknown-user', username);
      const result = await work(client, user);
      await this.#audit.operate(
        { actor: undefined, action, resourceType: 'private_token', resource: user.username },
        client,
      );
      return result;
    });
  }

  async #lookUp(token: string): Promise<string | undefined> {
    const hashes = this.#box.lookups(token, lookupPurpose);
    const owner = await this.#ownerOf(hashes);
    if (owner !== undefined) return owner;
    // Keys may have been rotated since ours were read.
    const others = this.#box.newLookups(token, lookupPurpose, hashes);
    return others.length === 0 ? undefined : this.#ownerOf(others);
  }

  async #ownerOf(hashes: readonly Buffer[]): Promise<string | undefined> {
    const { rows } = await this.#database.pool.query<{ user_id: string }>({
      name: 'private-token-owner',
      // One writes, at most once a minute, and nobody waits for it.
      text: `WITH stale AS (
          SELECT user_id FROM access.private_tokens
          WHERE lookup = ANY($1) AND (date_last_used IS NULL OR date_last_used < now() - interval '1 minute') FOR NO KEY UPDATE SKIP LOCKED),
        used AS (UPDATE access.private_tokens t SET date_last_used = now() FROM stale WHERE t.user_id = stale.user_id)
        SELECT user_id FROM access.private_tokens WHERE lookup = ANY($1)`,
      values: [hashes],
    });
    return rows[0]?.user_id;
  }
}
