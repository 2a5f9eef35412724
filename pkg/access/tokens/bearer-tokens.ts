import { hash } from 'node:crypto';
import type { AccessDatabase, Queryable } from '../access-database.ts';
import type { Audit } from '../audit/audit.ts';
import { newAuthenticationFailed } from '../http/access-error.ts';
import type { AccessRequest } from '../http/access-request.ts';
import { valueOfScheme } from '../http/authenticate.ts';
import type { Credential, Proof } from '../http/credential.ts';
import type { OnIssue } from '../http/issued-credential.ts';
import { passwordChangedText } from '../login/login-accounts.ts';
import type { Principal } from '../http/caller.ts';
import { principalOf, type PrincipalRow } from '../principals/principals.ts';
import { randomText } from '../secrets/random-text.ts';
import { FreshLookup } from '../principals/fresh-lookup.ts';

export interface BearerTokensOptions {
  database: AccessDatabase;
  audit: Audit;
  /** How long a token lives. Default 24 h. */
  ttlSeconds?: number;
  /** Living tokens of one user; the oldest go. Default 1000. */
  perUser?: number;
  /** Hears of each new one, by the header that brings it. Default: nobody does. */
  onIssue?: OnIssue;
}

export interface IssuedToken {
  /** 36 letters and digits; only its hash is kept. */
  token: string;
  expires: Date;
}

const form = /^[0-9A-Za-z]{36}$/;

/** Tokens that a login gives out: `Authorization: Bearer <token>`. */
export class BearerTokens {
  readonly credential: Credential;
  readonly #database: AccessDatabase;
  readonly #audit: Audit;
  readonly #ttlSeconds: number;
  readonly #perUser: number;
  readonly #onIssue: OnIssue | undefined;
  readonly #owners: FreshLookup<Principal | undefined>;

  constructor({ database, audit, ttlSeconds = 86_400, perUser = 1000, onIssue }: BearerTokensOptions) {
    this.#database = database;
    this.#audit = audit;
    this.#ttlSeconds = ttlSeconds;
    this.#perUser = perUser;
    this.#onIssue = onIssue;
    this.#owners = new FreshLookup((key) => this.#findOwner(Buffer.from(key, 'hex')));
    this.credential = {
      scheme: 'bearer',
      word: 'bearer',
      challenge: 'Bearer realm="api"',
      authenticate: (request) => this.#authenticate(request),
    };
  }

  /**
   * A new token. `passwordChanged`: of the login that it is for; undefined where the user is gone or out, or has
   * another password by now: what changes that must update the user before it deletes tokens, then none slips through.
   */
  async issue(
    userId: string,
    { passwordChanged }: { passwordChanged?: string } = {},
  ): Promise<IssuedToken | undefined> {
    const token = randomText(36);
    const { rows } = await this.#database.pool.query<{ expires: Date }>({
      name: 'bearer-token-issue',
      text: `WITH owner AS MATERIALIZED (SELECT id FROM access.users WHERE id = $2 AND ($4::text IS NULL OR ${passwordChangedText} = $4)
          AND is_active AND (date_expired IS NULL OR date_expired > now()) FOR SHARE)
        INSERT INTO access.bearer_tokens (hash, user_id, expires) SELECT $1, id, date_trunc('second', now() + make_interval(secs => $3)) FROM owner RETURNING expires`,
      values: [hashOf(token), userId, this.#ttlSeconds, passwordChanged ?? null],
    });
    if (rows[0] === undefined) return undefined;
    await this.#trim(userId);
    this.#onIssue?.({ authorization: `Bearer ${token}` }, userId);
    return { token, expires: rows[0].expires };
  }

  /** All of a user's; in a transaction after the update of the user. */
  async revokeAll(userId: string, on: Queryable = this.#database.pool): Promise<void> {
    await on.query({
      name: 'bearer-tokens-revoke',
      text: 'DELETE FROM access.bearer_tokens WHERE user_id = $1',
      values: [userId],
    });
  }

  async #trim(userId: string): Promise<void> {
    await this.#database.pool.query({
      name: 'bearer-tokens-trim',
      text: `DELETE FROM access.bearer_tokens WHERE user_id = $1
        AND created <= (SELECT created FROM access.bearer_tokens WHERE user_id = $1 ORDER BY created DESC OFFSET $2 LIMIT 1)`,
      values: [userId, this.#perUser],
    });
  }

  async #authenticate(request: AccessRequest): Promise<Proof | undefined> {
    const token = valueOfScheme(request, 'bearer');
    if (token === undefined) return undefined;
    const principal = form.test(token) ? await this.#owners.get(hashOf(token).toString('hex')) : undefined;
    if (principal !== undefined) return { userId: principal.id, principal };
    await this.#audit.operate({
      actor: undefined,
      action: 'failed_use',
      resourceType: 'bearer_token',
      resource: '',
      address: request.address,
      requestId: request.context.id,
    });
    throw newAuthenticationFailed();
  }

  async #findOwner(tokenHash: Buffer): Promise<Principal | undefined> {
    const { rows } = await this.#database.pool.query<PrincipalRow>({
      name: 'bearer-token-owner',
      text: 'SELECT p.* FROM access.bearer_tokens t JOIN access.principals p ON p.id = t.user_id WHERE t.hash = $1 AND t.expires > now() AND p.is_valid',
      values: [tokenHash],
    });
    return rows[0] && principalOf(rows[0]);
  }
}

function hashOf(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
