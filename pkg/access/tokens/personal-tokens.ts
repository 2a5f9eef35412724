import { randomInt } from 'node:crypto';
import {
  fieldError,
  newAlreadyExists,
  newForbidden,
  newInvalid,
  newNotFound,
  parseTimestamp,
  type StatusCause,
} from '#pkg/apimachinery/index';
import { runQuery, type Queryable } from '#pkg/database/index';
import { credentialIdOf, newPersonalToken, type UserInfo } from '#pkg/identity/index';
import type { AccessDatabase } from '../access-database.ts';
import { accessQuery, currentTime } from '../access-tables.ts';
import type { Audit, OperationEntry } from '../audit/audit.ts';
import { isServiceName } from '../principals/service-user.ts';
import type { OnIssue } from '../http/issued-credential.ts';
import {
  presentToken,
  tokenColumns,
  tokenKind,
  tokenResource,
  type PersonalToken,
  type TokenRow,
} from './personal-token.ts';
import { credentialCauses, draftCauses, type TokenDraft } from './token-draft.ts';
import { TokenStore } from './token-store.ts';

const maxTokens = 100;
/** Without vowels and look-alikes, so that it forms no words. Source: k8s.io/apimachinery/pkg/util/rand. */
const alphabet = 'bcdfghjklmnpqrstvwxz2456789';
const maxPrefixLength = 248;
/** Names to try for one generateName; a hundred tokens cannot take all of them. */
const maxAttempts = 8;

/** Roles that a token can be restricted to, from the content platform. */
export interface TokenRoles {
  /** Has the user this ClusterRole, regardless of a restriction of their credential? */
  hasRole(user: UserInfo, clusterRole: string): boolean | Promise<boolean>;
  /** Names of all ClusterRoles for which hasRole is true. */
  rolesOf(user: UserInfo): Iterable<string> | Promise<Iterable<string>>;
}

export interface PersonalTokensParts {
  database: AccessDatabase;
  audit: Audit;
  roles: TokenRoles;
  /** Called for each new token, with the header that carries it. Default: none. */
  onIssue?: OnIssue;
}

/**
 * The caller on the content platform: `uid` is the user's id. A restriction or expiry of their credential also applies
 * to tokens that they create.
 */
export interface TokenOwner {
  user: UserInfo;
  /** For the audit. */
  address: string;
  requestId: string;
}

/**
 * A user's own personal tokens. Throws StatusError 404 for an unknown name, 422 for an invalid draft, with a cause per
 * field, 409 for a name that the user has already used. Every change has an audit row.
 */
export class PersonalTokens {
  readonly #parts: PersonalTokensParts;

  constructor(parts: PersonalTokensParts) {
    this.#parts = parts;
  }

  /** Ordered by name. */
  async list(userId: string): Promise<PersonalToken[]> {
    const tokens = accessQuery
      .selectFrom('access.personal_tokens')
      .select(tokenColumns)
      .where('user_id', '=', userId)
      .orderBy('name', (order) => order.collate('C'))
      .orderBy('id');
    const { rows } = await runQuery(this.#parts.database.pool, tokens, 'tokens-of-user');
    return rows.map(presentToken);
  }

  async get(userId: string, name: string): Promise<PersonalToken> {
    return presentToken(await this.#find(userId, name, this.#parts.database.pool));
  }

  /** Names of the roles that a user may restrict a token to, without those reserved for the system. */
  async assignableRoles({ restriction, ...owner }: UserInfo): Promise<string[]> {
    const names = [...(await this.#parts.roles.rolesOf(owner))];
    return names
      .filter((name) => !name.startsWith('system:') && restriction?.roles.includes(name) !== false)
      .toSorted();
  }

  /**
   * The result has `status.token`, which cannot be read again. The token expires no later than the credential of the
   * request. At most 100 per user, including revoked and expired ones. 403 for the user of a service.
   */
  async create({ user, address, requestId }: TokenOwner, draft: TokenDraft): Promise<PersonalToken> {
    // It would outlive the token of this request when that is replaced.
    if (isServiceName(user.name))
      throw newForbidden(tokenResource, '', `only the operator makes tokens of ${user.name}: svc create-token`);
    const leaks = credentialCauses(draft);
    if (leaks.length > 0) throw newInvalid(tokenKind, '', leaks);
    const causes = [...draftCauses(draft), ...expiryCauses(user, draft)];
    if (causes.length === 0) causes.push(...(await this.#roleCauses(user, draft.roles ?? [])));
    if (causes.length > 0) throw newInvalid(tokenKind, draft.name ?? '', causes);
    const token = newPersonalToken();
    const made = await this.#parts.database.transaction(async (client) => {
      const name = await this.#reserveName(client, user, draft);
      const roles = draft.roles ?? user.restriction?.roles ?? null;
      const insert = accessQuery
        .insertInto('access.personal_tokens')
        .values({
          user_id: user.uid,
          // A replica of the previous release accepts any token with a username, and ignores its roles.
          username: roles === null ? user.name : '',
          name,
          display_name: draft.displayName ?? '',
          expires: expiryOf(draft) ?? limitOf(user),
          roles: roles && [...roles],
          hash: TokenStore.hash(token),
        })
        .returning(tokenColumns);
      const { rows } = await runQuery(client, insert, 'token-create');
      const row = presentToken(rows[0]!);
      await this.#note('create', { user, address, requestId }, row, client);
      return row;
    });
    this.#parts.onIssue?.({ authorization: `Bearer ${token}` }, user.uid);
    return { ...made, status: { ...made.status, token } };
  }

  /** Applies to the next request on every replica. Does nothing if it is revoked already. */
  revoke(owner: TokenOwner, name: string): Promise<PersonalToken> {
    return this.#change(owner, name, async (client, row) => {
      if (row.revoked !== null) return presentToken(row);
      return this.#set('revoke', { owner, row, client });
    });
  }

  /**
   * A restricted or expiring credential may not restore a token with more rights or a later expiry: 403. Does nothing
   * if it is not revoked.
   */
  restore(owner: TokenOwner, name: string): Promise<PersonalToken> {
    return this.#change(owner, name, async (client, row) => {
      if (row.revoked === null) return presentToken(row);
      const { restriction } = owner.user;
      const isWithin =
        restriction === undefined || row.roles?.every((role) => restriction.roles.includes(role)) === true;
      if (!isWithin) throw newForbidden(tokenResource, name, 'it can do more than the credential of this request');
      const limit = limitOf(owner.user);
      if (limit !== null && (row.expires === null || row.expires > limit))
        throw newForbidden(tokenResource, name, 'it outlives the credential of this request');
      return this.#set('restore', { owner, row, client });
    });
  }

  /** Returns the deleted token. */
  remove(owner: TokenOwner, name: string): Promise<PersonalToken> {
    return this.#change(owner, name, async (client, row) => {
      await runQuery(client, accessQuery.deleteFrom('access.personal_tokens').where('id', '=', row.id), 'token-remove');
      const removed = presentToken(row);
      await this.#note('delete', owner, removed, client);
      return removed;
    });
  }

  #change(
    owner: TokenOwner,
    name: string,
    work: (client: Queryable, row: TokenRow) => Promise<PersonalToken>,
  ): Promise<PersonalToken> {
    return this.#parts.database.transaction(async (client) =>
      work(client, await this.#find(owner.user.uid, name, client, { isLocked: true })),
    );
  }

  async #set(
    action: 'revoke' | 'restore',
    { owner, row, client }: { owner: TokenOwner; row: TokenRow; client: Queryable },
  ): Promise<PersonalToken> {
    const update = accessQuery
      .updateTable('access.personal_tokens')
      .set({ revoked: action === 'revoke' ? currentTime : null })
      .where('id', '=', row.id)
      .returning(tokenColumns);
    const { rows } = await runQuery(client, update, `token-${action}`);
    const changed = presentToken(rows[0]!);
    await this.#note(action, owner, changed, client);
    return changed;
  }

  async #find(userId: string, name: string, on: Queryable, { isLocked = false } = {}): Promise<TokenRow> {
    const token = accessQuery
      .selectFrom('access.personal_tokens')
      .select(tokenColumns)
      .where('user_id', '=', userId)
      .where('name', '=', name);
    const { rows } = await (isLocked
      ? runQuery(on, token.forUpdate(), 'token-of-user-lock')
      : runQuery(on, token, 'token-of-user'));
    if (rows[0] === undefined) throw newNotFound(tokenResource, name);
    return rows[0];
  }

  /** Returns a name that is unique among the user's tokens until the transaction ends. */
  async #reserveName(
    client: Queryable,
    { uid, name: username }: UserInfo,
    { name, generateName = 'pat-' }: TokenDraft,
  ): Promise<string> {
    // Names and numbers of tokens are looked at while no other is made for this user.
    const owner = accessQuery.selectFrom('access.users').select('id').where('id', '=', uid).forNoKeyUpdate();
    const { rows: owners } = await runQuery(client, owner, 'token-owner-lock');
    if (owners.length === 0)
      throw newForbidden(tokenResource, '', `there is no user ${JSON.stringify(username)} any more`);
    const names = accessQuery.selectFrom('access.personal_tokens').select('name').where('user_id', '=', uid);
    const { rows } = await runQuery(client, names, 'token-names');
    const taken = new Set(rows.map((row) => row.name));
    if (rows.length >= maxTokens)
      throw newInvalid(tokenKind, name ?? '', [
        fieldError.forbidden(
          'metadata.name',
          `you have ${maxTokens} tokens, as many as there may be; delete one first`,
        ),
      ]);
    if (name !== undefined) {
      if (taken.has(name)) throw newAlreadyExists(tokenResource, name);
      return name;
    }
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const made =
        generateName.slice(0, maxPrefixLength) +
        Array.from({ length: 5 }, () => alphabet[randomInt(alphabet.length)]).join('');
      if (!taken.has(made)) return made;
    }
    throw newAlreadyExists(tokenResource, generateName);
  }

  async #roleCauses(user: UserInfo, roles: readonly string[]): Promise<StatusCause[]> {
    const causes: StatusCause[] = [];
    for (const [index, role] of roles.entries())
      if (!(await this.#mayAssign(user, role)))
        causes.push(fieldError.invalid(`spec.roles[${index}]`, role, 'is no ClusterRole that you hold'));
    return causes;
  }

  async #mayAssign({ restriction, ...owner }: UserInfo, role: string): Promise<boolean> {
    if (restriction !== undefined && !restriction.roles.includes(role)) return false;
    return this.#parts.roles.hasRole(owner, role);
  }

  #note(
    action: OperationEntry['action'],
    { user, address, requestId }: TokenOwner,
    { metadata, spec }: PersonalToken,
    on: Queryable,
  ): Promise<void> {
    const detail =
      action !== 'create'
        ? ''
        : [
            `until ${spec.expiresAt ?? 'revoked'}`,
            ...(spec.roles === undefined ? [] : [`narrowed to ${spec.roles.join(', ')}`]),
          ].join('; ');
    return this.#parts.audit.recordOperation(
      {
        actor: { id: user.uid, username: user.name },
        credentialId: credentialIdOf(user),
        action,
        resourceType: 'personal_token',
        resource: metadata.name,
        detail,
        address,
        requestId,
      },
      on,
    );
  }
}

function expiryOf({ expiresAt }: TokenDraft): Date | null {
  const instant = expiresAt === undefined ? undefined : parseTimestamp(expiresAt);
  return instant === undefined ? null : new Date(instant);
}

/** Expiry of the request's credential; null: none. */
function limitOf({ credentialExpires }: UserInfo): Date | null {
  return credentialExpires === undefined ? null : new Date(credentialExpires);
}

function expiryCauses(user: UserInfo, draft: TokenDraft): StatusCause[] {
  const [limit, expires] = [limitOf(user), expiryOf(draft)];
  if (limit === null || expires === null || expires <= limit) return [];
  return [
    fieldError.invalid(
      'spec.expiresAt',
      draft.expiresAt,
      `must not be after ${limit.toISOString()}, when the credential of this request expires`,
    ),
  ];
}
