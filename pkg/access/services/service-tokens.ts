import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { runQuery, type Queryable } from '#pkg/database/index';
import { lockUntilCommit, type AccessDatabase } from '../access-database.ts';
import { accessQuery, currentTime } from '../access-tables.ts';
import type { Audit } from '../audit/audit.ts';
import { serviceSource, serviceUsers, type Service } from '../principals/service-user.ts';
import { TokenStore } from '../tokens/token-store.ts';
import { ServiceTokenError } from './service-token-error.ts';

/** Only one process at a time creates the users of services and their tokens. */
const lockName = 'svc access.services';

/**
 * The personal tokens of services, which work with the content platform as users of their own. A token is made
 * elsewhere and added here; like any personal token only its hash is stored. A service may have several, so that
 * processes with an old and with a new one work at the same time. Every change has an audit row.
 */
export class ServiceTokens {
  readonly #database: AccessDatabase;
  readonly #audit: Audit;

  constructor({ database, audit }: { database: AccessDatabase; audit: Audit }) {
    this.#database = database;
    this.#audit = audit;
  }

  /**
   * Ensures that the service has this token, and that its user exists with its group. `beforeCommit` runs once the
   * database has accepted the token, and nothing is stored if it rejects. Returns whether the token is new.
   * @throws ServiceTokenError if the token is another user's, or was revoked or has expired: it stays so
   */
  add(service: Service, token: string, beforeCommit: () => Promise<void> = async () => {}): Promise<boolean> {
    return this.#database.transaction(async (client) => {
      await lockUntilCommit(client, lockName);
      const userId = await this.#ensureUser(service, client);
      const isNew = await this.#ensureToken({ service, userId, token }, client);
      await beforeCommit();
      return isNew;
    });
  }

  /** Revokes every token of the service except this one, from the next request on. Returns how many. */
  revokeOthers(service: Service, token: string): Promise<number> {
    return this.#database.transaction(async (client) => {
      await lockUntilCommit(client, lockName);
      const revoke = accessQuery
        .updateTable('access.personal_tokens')
        .set({ revoked: currentTime })
        .where('user_id', 'in', userOf(service))
        .where('hash', '<>', TokenStore.hash(token))
        .where('revoked', 'is', null)
        .returning('name');
      const { rows } = await runQuery(client, revoke);
      for (const { name } of rows) await this.#record(service, 'revoke', name, client);
      return rows.length;
    });
  }

  async #ensureUser(service: Service, client: Queryable): Promise<string> {
    const { username, displayName, group } = serviceUsers[service];
    const { rows } = await runQuery(client, userOf(service));
    if (rows[0] !== undefined) return rows[0].id;
    const id = randomUUID();
    const user = {
      id,
      username,
      username_key: username,
      name: displayName,
      search_text: '',
      source: serviceSource,
      groups: [group],
    };
    await runQuery(client, accessQuery.insertInto('access.users').values(user));
    await this.#audit.recordOperation(
      { actor: undefined, action: 'create', resourceType: 'user', resource: username, detail: 'of a service' },
      client,
    );
    return id;
  }

  async #ensureToken(
    { service, userId, token }: { service: Service; userId: string; token: string },
    client: Queryable,
  ): Promise<boolean> {
    const hash = TokenStore.hash(token);
    const present = accessQuery
      .selectFrom('access.personal_tokens')
      .select(['user_id', sql<boolean>`revoked IS NULL AND (expires IS NULL OR expires > now())`.as('isUsable')])
      .where('hash', '=', hash);
    const { rows } = await runQuery(client, present);
    const { username } = serviceUsers[service];
    if (rows[0] !== undefined) {
      if (rows[0].user_id !== userId) throw new ServiceTokenError('other-user', username);
      if (!rows[0].isUsable) throw new ServiceTokenError('invalid', username);
      return false;
    }
    const name = `${service}-${randomUUID().slice(0, 8)}`;
    // Without a username: the previous releases accept a token that has one without asking for the user's groups.
    const insert = accessQuery
      .insertInto('access.personal_tokens')
      .values({ user_id: userId, username: '', name, hash });
    await runQuery(client, insert);
    await this.#record(service, 'create', name, client);
    return true;
  }

  #record(service: Service, action: 'create' | 'revoke', name: string, client: Queryable): Promise<void> {
    return this.#audit.recordOperation(
      {
        actor: undefined,
        action,
        resourceType: 'personal_token',
        resource: name,
        detail: `of ${serviceUsers[service].username}`,
      },
      client,
    );
  }
}

function userOf(service: Service) {
  return accessQuery
    .selectFrom('access.users')
    .select('id')
    .where('username_key', '=', serviceUsers[service].username)
    .where('source', '=', serviceSource);
}
