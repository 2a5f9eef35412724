import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { PreparedStatement, runQuery, type Placeholders, type Queryable } from '#pkg/database/index';
import type { AccessDatabase } from '../access-database.ts';
import { accessQuery, currentTime } from '../access-tables.ts';
import type { Audit, OperationEntry } from '../audit/audit.ts';
import type { SecretBox } from '../secrets/secret-box.ts';
import { sealedTables } from '../secrets/sealed-tables.ts';
import { isPerson } from '../principals/service-user.ts';
import { FreshLookup } from '../principals/fresh-lookup.ts';
import { fold } from '../names/fold-case.ts';
import { PrivateTokenError } from './private-token-error.ts';

const { purposeOf, lookupPurpose } = sealedTables.privateTokens;
/** At most one request per minute writes the last use, and no other waits for it. */
const useToken = new PreparedStatement('private-token-owner', ($: Placeholders<{ hashes: readonly Buffer[] }>) =>
  accessQuery
    .with('stale', (db) =>
      db
        .selectFrom('access.private_tokens')
        .select('user_id')
        .where((eb) => eb('lookup', '=', eb.fn.any($.hashes)))
        .where((eb) =>
          eb.or([eb('date_last_used', 'is', null), eb('date_last_used', '<', sql<Date>`now() - interval '1 minute'`)]),
        )
        .forNoKeyUpdate()
        .skipLocked(),
    )
    .with('used', (db) =>
      db
        .updateTable('access.private_tokens as t')
        .from('stale')
        .set({ date_last_used: currentTime })
        .whereRef('t.user_id', '=', 'stale.user_id'),
    )
    .selectFrom('access.private_tokens')
    .select('user_id')
    .where((eb) => eb('lookup', '=', eb.fn.any($.hashes))),
);

const form = /^[0-9a-f]{40}$/;

export interface PrivateTokenParts {
  database: AccessDatabase;
  box: SecretBox;
  audit: Audit;
}

/**
 * Permanent tokens, one per user: 40 hexadecimal characters. Sealed, as the server's operator may read them again, and
 * found by a keyed hash. Methods with a username fold it, throw PrivateTokenError with a sentence for the operator if
 * they fail, and write an audit row if they succeed.
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

  /** Id of the token's user, valid or not; stores its last use, to the minute. */
  async findOwner(token: string): Promise<string | undefined> {
    return form.test(token) ? this.#owners.get(token) : undefined;
  }

  /** Fails if the user has one, which may be in use. */
  create(username: string): Promise<string> {
    return this.#change(username, 'create', async (client, user) => {
      const { secret, lookup, token } = this.#make(user.id);
      const insert = accessQuery
        .insertInto('access.private_tokens')
        .values({ user_id: user.id, secret, lookup })
        .onConflict((conflict) => conflict.column('user_id').doNothing());
      const { rowCount } = await runQuery(client, insert);
      if (rowCount === 0) throw new PrivateTokenError('exists', user.username);
      return token;
    });
  }

  /** Returns the existing token. */
  show(username: string): Promise<string> {
    return this.#change(username, 'show', async (client, user) => {
      const { rows } = await runQuery(
        client,
        accessQuery.selectFrom('access.private_tokens').select('secret').where('user_id', '=', user.id),
      );
      if (rows[0] === undefined) throw new PrivateTokenError('none', user.username);
      return this.#box.open(rows[0].secret, purposeOf(user.id));
    });
  }

  /** Replaces the existing token, which is invalid from the next request on. */
  rotate(username: string): Promise<string> {
    return this.#change(username, 'rotate', async (client, user) => {
      const { secret, lookup, token } = this.#make(user.id);
      const update = accessQuery
        .updateTable('access.private_tokens')
        .set({ secret, lookup, date_created: currentTime, date_last_used: null })
        .where('user_id', '=', user.id);
      const { rowCount } = await runQuery(client, update);
      if (rowCount === 0) throw new PrivateTokenError('none', user.username);
      return token;
    });
  }

  delete(username: string): Promise<void> {
    return this.#change(username, 'delete', async (client, user) => {
      const { rowCount } = await runQuery(
        client,
        accessQuery.deleteFrom('access.private_tokens').where('user_id', '=', user.id),
      );
      if (rowCount === 0) throw new PrivateTokenError('none', user.username);
    });
  }

  #make(userId: string): { token: string; secret: Buffer; lookup: Buffer } {
    const token = randomBytes(20).toString('hex');
    // The hash after the seal, so that both use the same key.
    const secret = this.#box.seal(token, purposeOf(userId));
    return { token, secret, lookup: this.#box.lookup(token, lookupPurpose) };
  }

  /** Runs change and audit in one transaction, with a lock on the user. */
  #change<T>(
    username: string,
    action: OperationEntry['action'],
    work: (client: Queryable, user: { id: string; username: string }) => Promise<T>,
  ): Promise<T> {
    return this.#database.transaction(async (client) => {
      const owner = accessQuery
        .selectFrom('access.users')
        .select(['id', 'username'])
        .where('username_key', '=', fold(username))
        .where(isPerson)
        .forNoKeyUpdate();
      const { rows } = await runQuery(client, owner);
      const [user] = rows;
      if (user === undefined) throw new PrivateTokenError('unknown-user', username);
      const result = await work(client, user);
      await this.#audit.recordOperation(
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
    // Keys may have been rotated since this process read them.
    const others = this.#box.newLookups(token, lookupPurpose, hashes);
    return others.length === 0 ? undefined : this.#ownerOf(others);
  }

  async #ownerOf(hashes: readonly Buffer[]): Promise<string | undefined> {
    const { rows } = await useToken.run(this.#database.pool, { hashes });
    return rows[0]?.user_id;
  }
}
