import { hash } from 'node:crypto';
import { sql } from 'kysely';
import { PreparedStatement, runQuery, type Placeholders, type Queryable } from '#pkg/database/index';
import { formatCredentialId } from '#pkg/identity/index';
import { keepNewest, type AccessDatabase } from '../access-database.ts';
import { accessQuery, currentTime } from '../access-tables.ts';
import type { Audit } from '../audit/audit.ts';
import { newAuthenticationFailed } from '../http/access-error.ts';
import type { AccessRequest } from '../http/access-request.ts';
import { valueOfScheme } from '../http/authenticate.ts';
import type { Credential, CredentialProof } from '../http/credential.ts';
import type { OnIssue } from '../http/issued-credential.ts';
import { selectLockedOwner } from '../login/login-accounts.ts';
import type { Principal } from '../http/caller.ts';
import { principalOf } from '../principals/principals.ts';
import { randomText } from '../secrets/random-text.ts';
import { FreshLookup } from '../principals/fresh-lookup.ts';

export interface BearerTokensOptions {
  database: AccessDatabase;
  audit: Audit;
  /** Lifetime of a token. Default 24 h. */
  ttlSeconds?: number;
  /** Maximum tokens of one user; the oldest are deleted. Default 1000. */
  perUser?: number;
  /** Called for each new token, with the header that carries it. Default: none. */
  onIssue?: OnIssue;
}

export interface IssuedToken {
  /** 36 letters and digits; only its hash is stored. */
  token: string;
  expires: Date;
}

const findOwner = new PreparedStatement('bearer-token-owner', ($: Placeholders<{ tokenHash: Buffer }>) =>
  accessQuery
    .selectFrom('access.bearer_tokens as t')
    .innerJoin('access.principals as p', 'p.id', 't.user_id')
    .selectAll('p')
    .where('t.hash', '=', $.tokenHash)
    .where('t.expires', '>', currentTime)
    .where('p.is_valid', '=', sql.lit(true)),
);

const form = /^[0-9A-Za-z]{36}$/;

/** Tokens that a login issues: `Authorization: Bearer <token>`. */
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
      authorizationScheme: 'bearer',
      challenge: 'Bearer realm="api"',
      authenticate: (request) => this.#authenticate(request),
    };
  }

  /**
   * Issues a token. `passwordChanged`: from the login. Undefined if the user is deleted or not valid, or their password
   * was changed since. A change of these must update the user before it deletes tokens; then it misses none.
   */
  async issue(
    userId: string,
    { passwordChanged }: { passwordChanged?: string } = {},
  ): Promise<IssuedToken | undefined> {
    const token = randomText(36);
    const insert = accessQuery
      .with(
        (cte) => cte('owner').materialized(),
        () => selectLockedOwner(userId, passwordChanged ?? null),
      )
      .insertInto('access.bearer_tokens')
      .columns(['hash', 'user_id', 'expires'])
      .expression((eb) =>
        eb
          .selectFrom('owner')
          .select((owner) => [
            owner.val(hashOf(token)).as('hash'),
            'id',
            sql<Date>`date_trunc('second', now() + make_interval(secs => ${this.#ttlSeconds}))`.as('expires'),
          ]),
      )
      .returning('expires');
    const { rows } = await runQuery(this.#database.pool, insert, 'bearer-token-issue');
    if (rows[0] === undefined) return undefined;
    const issued = { table: 'access.bearer_tokens', by: 'created', userId } as const;
    await keepNewest(this.#database.pool, issued, this.#perUser, 'bearer-tokens-trim');
    this.#onIssue?.({ authorization: `Bearer ${token}` }, userId);
    return { token, expires: rows[0].expires };
  }

  /** Deletes all tokens of a user; in a transaction, call it after the update of the user. */
  async revokeAll(userId: string, on: Queryable = this.#database.pool): Promise<void> {
    await runQuery(
      on,
      accessQuery.deleteFrom('access.bearer_tokens').where('user_id', '=', userId),
      'bearer-tokens-revoke',
    );
  }

  async #authenticate(request: AccessRequest): Promise<CredentialProof | undefined> {
    const token = valueOfScheme(request, 'bearer');
    if (token === undefined) return undefined;
    const key = hashOf(token).toString('hex');
    const principal = form.test(token) ? await this.#owners.get(key) : undefined;
    if (principal !== undefined)
      return { userId: principal.id, credentialId: formatCredentialId('BEARERSHA256', key.slice(0, 16)), principal };
    await this.#audit.recordOperation({
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
    const { rows } = await findOwner.run(this.#database.pool, { tokenHash });
    return rows[0] && principalOf(rows[0]);
  }
}

function hashOf(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
