import { hash } from 'node:crypto';
import type { AccessDatabase, Queryable } from '../access-database.ts';
import type { Principal } from '../http/caller.ts';
import { sessionCookie } from '../http/cookies.ts';
import type { Credential } from '../http/credential.ts';
import type { OnIssue } from '../http/issued-credential.ts';
import { passwordChangedText } from '../login/login-accounts.ts';
import { principalOf, type PrincipalRow } from '../principals/principals.ts';
import { isUuid } from '../operations/uuid.ts';
import { randomText } from '../secrets/random-text.ts';
import { FreshLookup } from '../principals/fresh-lookup.ts';
import { csrfTokenOf, isCsrfTokenOf } from './csrf-token.ts';

export interface SessionsOptions {
  database: AccessDatabase;
  /** A session that nothing was asked with for so long is over. Default 24 h. */
  idleSeconds?: number;
  /** However much it is used, it lives no longer. Default 30 days. */
  maxAgeSeconds?: number;
  /** Living sessions of one user; those unused for longest go. Default 100. */
  perUser?: number;
  /** Hears of each new one, by the header that brings it. Default: nobody does. */
  onIssue?: OnIssue;
}

export interface NewSessionOptions {
  userId: string;
  address: string;
  userAgent: string;
  /** Of the login that it is for: no session begins where the password is another one by now. */
  passwordChanged?: string;
  /** Token of the session that the browser had before: it ends, whoever it was of. */
  replaces?: string | undefined;
}

export interface NewSession {
  id: string;
  /** 36 letters and digits; only its hash is kept. */
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

const form = /^[0-9A-Za-z]{36}$/;

/**
 * Sessions of the pages: a random token in a cookie, its hash in a row. When one was last seen is written at most once
 * a minute.
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
            principal: found.principal,
            session: { id: found.id, isCsrfToken: (text) => isCsrfTokenOf(token, text) },
          }
        );
      },
    };
  }

  /** Undefined where the user is gone or out, or has another password by now: see `BearerTokens.issue`. */
  async create({
    userId,
    address,
    userAgent,
    passwordChanged,
    replaces,
  }: NewSessionOptions): Promise<NewSession | undefined> {
    const token = randomText(36);
    const { rows } = await this.#database.pool.query<{ id: string }>({
      name: 'session-create',
      text: `WITH owner AS MATERIALIZED (SELECT id FROM access.users WHERE id = $2 AND ($6::text IS NULL OR ${passwordChangedText} = $6)
            AND is_active AND (date_expired IS NULL OR date_expired > now()) FOR SHARE),
          replaced AS (DELETE FROM access.sessions WHERE hash = $7)
        INSERT INTO access.sessions (hash, user_id, expires, remote_addr, user_agent) SELECT $1, id, now() + make_interval(secs => $3), $4, $5 FROM owner RETURNING id`,
      values: [
        hashOf(token),
        userId,
        Math.min(this.#idleSeconds, this.#maxAgeSeconds),
        address,
        userAgent,
        passwordChanged ?? null,
        replaces === undefined ? null : hashOf(replaces),
      ],
    });
    if (rows[0] === undefined) return undefined;
    await this.#trim(userId);
    this.#onIssue?.({ cookie: `${sessionCookie}=${token}` }, userId);
    return { id: rows[0].id, token, csrfToken: csrfTokenOf(token), maxAgeSeconds: this.#maxAgeSeconds };
  }

  /**
   * Whose session this is, if it lives and its user may come in; what is in no form of a token costs no query. The
   * answer is never older than the question.
   */
  find(token: string): Promise<FoundSession | undefined> {
    return form.test(token) ? this.#lookup.get(hashOf(token).toString('hex')) : Promise.resolve(undefined);
  }

  /** Those of a user that live, the last used first. */
  async list(userId: string): Promise<SessionRow[]> {
    const { rows } = await this.#database.pool.query<SessionRow>({
      name: 'sessions-of-user',
      text: 'SELECT id, remote_addr, user_agent, created, last_seen FROM access.sessions WHERE user_id = $1 AND expires > now() ORDER BY last_seen DESC, id',
      values: [userId],
    });
    return rows;
  }

  /** False where this user has no such session. */
  async end(userId: string, id: string, on: Queryable = this.#database.pool): Promise<boolean> {
    if (!isUuid(id)) return false;
    const { rowCount } = await on.query({
      name: 'session-end',
      text: 'DELETE FROM access.sessions WHERE id = $1 AND user_id = $2',
      values: [id, userId],
    });
    return rowCount === 1;
  }

  /** All of a user's, but for the one that asks; in a transaction after the update of the user. */
  async endAll(
    userId: string,
    { except }: { except?: string } = {},
    on: Queryable = this.#database.pool,
  ): Promise<void> {
    await on.query({
      name: 'sessions-end',
      text: 'DELETE FROM access.sessions WHERE user_id = $1 AND ($2::uuid IS NULL OR id <> $2)',
      values: [userId, except ?? null],
    });
  }

  async #find(tokenHash: Buffer): Promise<FoundSession | undefined> {
    const { rows } = await this.#database.pool.query<PrincipalRow & { session_id: string; is_due: boolean }>({
      name: 'session-principal',
      text: `SELECT s.id AS session_id, s.last_seen < now() - make_interval(secs => $2) AS is_due, p.*
        FROM access.sessions s JOIN access.principals p ON p.id = s.user_id WHERE s.hash = $1 AND s.expires > now() AND p.is_valid`,
      values: [tokenHash, this.#touchSeconds],
    });
    const [row] = rows;
    if (row === undefined) return undefined;
    if (row.is_due) await this.#touch(row.session_id);
    return { id: row.session_id, principal: principalOf(row) };
  }

  async #touch(id: string): Promise<void> {
    await this.#database.pool.query({
      name: 'session-touch',
      text: `UPDATE access.sessions SET last_seen = now(), expires = LEAST(now() + make_interval(secs => $2), created + make_interval(secs => $3))
        WHERE id = $1 AND last_seen < now() - make_interval(secs => $4)`,
      values: [id, this.#idleSeconds, this.#maxAgeSeconds, this.#touchSeconds],
    });
  }

  async #trim(userId: string): Promise<void> {
    await this.#database.pool.query({
      name: 'sessions-trim',
      text: `DELETE FROM access.sessions WHERE user_id = $1
        AND last_seen <= (SELECT last_seen FROM access.sessions WHERE user_id = $1 ORDER BY last_seen DESC OFFSET $2 LIMIT 1)`,
      values: [userId, this.#perUser],
    });
  }
}

function hashOf(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
