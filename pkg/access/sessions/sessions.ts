import { hash } from 'node:crypto';
import { sql } from 'kysely';
import { PreparedStatement, runQuery, type Placeholders, type Queryable } from '#pkg/database/index';
import { formatCredentialId } from '#pkg/identity/index';
import { keepNewest, type AccessDatabase } from '../access-database.ts';
import { accessQuery, currentTime } from '../access-tables.ts';
import type { Principal } from '../http/caller.ts';
import { sessionCookie } from '../http/cookies.ts';
import type { Credential } from '../http/credential.ts';
import type { OnIssue } from '../http/issued-credential.ts';
import { selectLockedOwner } from '../login/login-accounts.ts';
import { principalOf } from '../principals/principals.ts';
import { isUuid } from '../operations/uuid.ts';
import { randomText } from '../secrets/random-text.ts';
import { FreshLookup } from '../principals/fresh-lookup.ts';
import { csrfTokenOf, isCsrfTokenOf } from './csrf-token.ts';

export interface SessionsOptions {
  database: AccessDatabase;
  /** A session ends after this time without a request. Default 24 h. */
  idleSeconds?: number;
  /** Maximum lifetime, also if in use. Default 30 days. */
  maxAgeSeconds?: number;
  /** Maximum sessions of one user; those unused for longest are deleted. Default 100. */
  perUser?: number;
  /** Called for each new session, with the header that carries it. Default: none. */
  onIssue?: OnIssue;
}

export interface NewSessionOptions {
  userId: string;
  address: string;
  userAgent: string;
  /** From the login; no session is created if the password was changed since. */
  passwordChanged?: string;
  /** Token of the browser's previous session, which ends, whoever its user is. */
  replaces?: string | undefined;
}

export interface NewSession {
  id: string;
  /** 36 letters and digits; only its hash is stored. */
  token: string;
  csrfToken: string;
  maxAgeSeconds: number;
}

/** A session as its user sees it. */
export interface SessionRow {
  id: string;
  remote_addr: string;
  user_agent: string;
  created: Date;
  last_seen: Date;
}

interface FoundSession {
  id: string;
  principal: Principal;
}

const findSession = new PreparedStatement(
  'session-principal',
  ($: Placeholders<{ tokenHash: Buffer; touchSeconds: number }>) =>
    accessQuery
      .selectFrom('access.sessions as s')
      .innerJoin('access.principals as p', 'p.id', 's.user_id')
      .select('s.id as session_id')
      .select(sql<boolean>`s.last_seen < now() - make_interval(secs => ${$.touchSeconds})`.as('is_due'))
      .selectAll('p')
      .where('s.hash', '=', $.tokenHash)
      .where('s.expires', '>', currentTime)
      .where('p.is_valid', '=', sql.lit(true)),
);

const touchSession = new PreparedStatement(
  'session-touch',
  ($: Placeholders<{ id: string; idleSeconds: number; maxAgeSeconds: number; touchSeconds: number }>) =>
    accessQuery
      .updateTable('access.sessions')
      .set({
        last_seen: currentTime,
        expires: sql<Date>`least(now() + make_interval(secs => ${$.idleSeconds}), created + make_interval(secs => ${$.maxAgeSeconds}))`,
      })
      .where('id', '=', $.id)
      .where('last_seen', '<', sql<Date>`now() - make_interval(secs => ${$.touchSeconds})`),
);

const form = /^[0-9A-Za-z]{36}$/;

/**
 * Sessions of the pages: a random token in a cookie, its hash in a row. The time of the last use is written at most
 * once a minute.
 */
export class Sessions {
  readonly credential: Credential;
  readonly #database: AccessDatabase;
  readonly #idleSeconds: number;
  readonly #maxAgeSeconds: number;
  readonly #touchSeconds: number;
  readonly #perUser: number;
  readonly #onIssue: OnIssue | undefined;
  readonly #lookup: FreshLookup<FoundSession | undefined>;

  constructor({
    database,
    idleSeconds = 86_400,
    maxAgeSeconds = 30 * 86_400,
    perUser = 100,
    onIssue,
  }: SessionsOptions) {
    this.#database = database;
    this.#idleSeconds = idleSeconds;
    this.#maxAgeSeconds = maxAgeSeconds;
    this.#touchSeconds = Math.min(60, idleSeconds / 4);
    this.#perUser = perUser;
    this.#onIssue = onIssue;
    this.#lookup = new FreshLookup((key) => this.#find(Buffer.from(key, 'hex')));
    this.credential = {
      scheme: 'session',
      authenticate: async ({ cookies }) => {
        const token = cookies.get(sessionCookie) ?? '';
        const found = await this.find(token);
        return (
          found && {
            userId: found.principal.id,
            credentialId: formatCredentialId('SESSION', found.id),
            principal: found.principal,
            session: { id: found.id, isCsrfToken: (text) => isCsrfTokenOf(token, text) },
          }
        );
      },
    };
  }

  /**
   * Undefined if the user is deleted or not valid, or their password was changed since the login: see
   * `BearerTokens.issue`.
   */
  async create({
    userId,
    address,
    userAgent,
    passwordChanged,
    replaces,
  }: NewSessionOptions): Promise<NewSession | undefined> {
    const token = randomText(36);
    const seconds = Math.min(this.#idleSeconds, this.#maxAgeSeconds);
    const insert = accessQuery
      .with(
        (cte) => cte('owner').materialized(),
        () => selectLockedOwner(userId, passwordChanged ?? null),
      )
      .with('replaced', (db) =>
        db.deleteFrom('access.sessions').where('hash', '=', sql.val(replaces === undefined ? null : hashOf(replaces))),
      )
      .insertInto('access.sessions')
      .columns(['hash', 'user_id', 'expires', 'remote_addr', 'user_agent'])
      .expression((eb) =>
        eb
          .selectFrom('owner')
          .select((owner) => [
            owner.val(hashOf(token)).as('hash'),
            'id',
            sql<Date>`now() + make_interval(secs => ${seconds})`.as('expires'),
            owner.val(address).as('remote_addr'),
            owner.val(userAgent).as('user_agent'),
          ]),
      )
      .returning('id');
    const { rows } = await runQuery(this.#database.pool, insert, 'session-create');
    if (rows[0] === undefined) return undefined;
    const issued = { table: 'access.sessions', by: 'last_seen', userId } as const;
    await keepNewest(this.#database.pool, issued, this.#perUser, 'sessions-trim');
    this.#onIssue?.({ cookie: `${sessionCookie}=${token}` }, userId);
    return { id: rows[0].id, token, csrfToken: csrfTokenOf(token), maxAgeSeconds: this.#maxAgeSeconds };
  }

  /**
   * Finds an unexpired session of a valid user; a text that is not in the form of a token costs no query. The result is
   * never older than the call.
   */
  find(token: string): Promise<FoundSession | undefined> {
    return form.test(token) ? this.#lookup.get(hashOf(token).toString('hex')) : Promise.resolve(undefined);
  }

  /** Unexpired sessions of a user, last used first. */
  async list(userId: string): Promise<SessionRow[]> {
    const living = accessQuery
      .selectFrom('access.sessions')
      .select(['id', 'remote_addr', 'user_agent', 'created', 'last_seen'])
      .where('user_id', '=', userId)
      .where('expires', '>', currentTime)
      .orderBy('last_seen', 'desc')
      .orderBy('id');
    const { rows } = await runQuery(this.#database.pool, living, 'sessions-of-user');
    return rows;
  }

  /** False if this user has no such session. */
  async end(userId: string, id: string, on: Queryable = this.#database.pool): Promise<boolean> {
    if (!isUuid(id)) return false;
    const end = accessQuery.deleteFrom('access.sessions').where('id', '=', id).where('user_id', '=', userId);
    const { rowCount } = await runQuery(on, end, 'session-end');
    return rowCount === 1;
  }

  /** Ends all sessions of a user except `except`; in a transaction, call it after the update of the user. */
  async endAll(
    userId: string,
    { except }: { except?: string } = {},
    on: Queryable = this.#database.pool,
  ): Promise<void> {
    const end = accessQuery
      .deleteFrom('access.sessions')
      .where('user_id', '=', userId)
      .where('id', 'is distinct from', except ?? null);
    await runQuery(on, end, 'sessions-end');
  }

  async #find(tokenHash: Buffer): Promise<FoundSession | undefined> {
    const { rows } = await findSession.run(this.#database.pool, { tokenHash, touchSeconds: this.#touchSeconds });
    const [row] = rows;
    if (row === undefined) return undefined;
    if (row.is_due) await this.#touch(row.session_id);
    return { id: row.session_id, principal: principalOf(row) };
  }

  async #touch(id: string): Promise<void> {
    await touchSession.run(this.#database.pool, {
      id,
      idleSeconds: this.#idleSeconds,
      maxAgeSeconds: this.#maxAgeSeconds,
      touchSeconds: this.#touchSeconds,
    });
  }
}

function hashOf(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
