import { createHmac, randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { sql } from 'kysely';
import { newServiceUnavailable, newTooManyRequests, newUnauthorized, type StatusError } from '#pkg/apimachinery/index';
import { failureSuffix, PreparedStatement, type Placeholders } from '#pkg/database/index';
import type { TrustedProxies } from '#pkg/http/index';
import { formatCredentialId, withCredentialId, type RequestAuthenticator, type UserInfo } from '#pkg/identity/index';
import type { AccessDatabase } from '../access-database.ts';
import { accessQuery } from '../access-tables.ts';
import { isAccessError } from '../http/access-error.ts';
import { passwordChangedText } from './login-accounts.ts';
import type { Login, LoginService } from './login-service.ts';
import { principalOf, userInfoOf } from '../principals/principals.ts';
import { FreshLookup } from '../principals/fresh-lookup.ts';
import { readBasicCredentials, type BasicCredentials } from './basic-credentials.ts';

const findUser = new PreparedStatement('basic-user', ($: Placeholders<{ id: string; passwordChanged: string }>) =>
  accessQuery
    .selectFrom('access.principals as p')
    .innerJoin('access.users as u', 'u.id', 'p.id')
    .selectAll('p')
    .where('p.id', '=', $.id)
    .where('p.is_valid', '=', sql.lit(true))
    .where(passwordChangedText, '=', $.passwordChanged),
);

const defaultCacheMs = 60_000;
/** Maximum number of cached passwords; the oldest is dropped. */
const maxCached = 10_000;

export interface BasicAuthenticatorOptions {
  database: AccessDatabase;
  login: Pick<LoginService, 'login'>;
  proxies: TrustedProxies;
  /** A right password is not hashed again until it was unused for this time. Default 60 s. */
  cacheMs?: number;
}

interface Verified {
  login: Pick<Login, 'id' | 'passwordChanged'>;
  until: number;
}

/**
 * Reads `Authorization: Basic` with username (or e-mail) and password; undefined if there is none. A password is
 * checked as a login, with the same lockout. A right one is cached until it was unused for a minute, as a hash under a
 * key of this process, so failures of others do not lock out its user. Each request still reads the user: a disabled
 * user or a changed password is refused from the next request on, on every replica. Authenticating the same request
 * again, as for a watch, is not another login.
 *
 * Throws StatusError 401 for any wrong credential, without the reason, 429 if more passwords arrive than can be hashed,
 * 503 if the database does not answer. A personal token is not accepted as a password.
 */
export class BasicAuthenticator implements RequestAuthenticator {
  readonly #options: Required<BasicAuthenticatorOptions>;
  readonly #key = randomBytes(32);
  /** Passwords being checked, or right, in order of insertion. */
  readonly #verified = new Map<string, Promise<Verified>>();
  /** Requests that were authenticated. */
  readonly #let = new WeakMap<IncomingMessage, Verified['login']>();
  readonly #users: FreshLookup<UserInfo | undefined>;

  constructor(options: BasicAuthenticatorOptions) {
    this.#options = { cacheMs: defaultCacheMs, ...options };
    this.#users = new FreshLookup((key) => this.#find(key));
  }

  async authenticateRequest(request: IncomingMessage): Promise<UserInfo | undefined> {
    const { authorization } = request.headers;
    if (authorization === undefined || !/^basic(?: |$)/i.test(authorization)) return undefined;
    const credentials = readBasicCredentials(authorization);
    if (credentials === undefined) throw newUnauthorized();
    const before = this.#let.get(request);
    try {
      const user = await (before === undefined ? this.#authenticate(credentials, request) : this.#userOf(before));
      if (user !== undefined) return user;
    } catch (error) {
      throw translate(error);
    }
    throw newUnauthorized();
  }

  /** Tries a second time if the cached result is no longer valid. */
  async #authenticate(credentials: BasicCredentials, request: IncomingMessage): Promise<UserInfo | undefined> {
    const key = createHmac('sha256', this.#key)
      .update(`${credentials.username}:${credentials.password}`)
      .digest('base64');
    for (let attempt = 0; attempt < 2; attempt += 1) {
      // Concurrent requests share one login.
      const verifying = this.#verified.get(key) ?? this.#verify(key, credentials, request);
      const verified = await verifying;
      const { login } = verified;
      const user = performance.now() < verified.until ? await this.#userOf(login) : undefined;
      if (user !== undefined) {
        verified.until = performance.now() + this.#options.cacheMs;
        this.#let.set(request, login);
        return user;
      }
      this.#forget(key, verifying);
    }
    return undefined;
  }

  #userOf({ id, passwordChanged }: Verified['login']): Promise<UserInfo | undefined> {
    return this.#users.get(`${id} ${passwordChanged}`);
  }

  #verify(key: string, { username, password }: BasicCredentials, request: IncomingMessage): Promise<Verified> {
    const { login, proxies, cacheMs } = this.#options;
    const userAgent = (request.headers['user-agent'] ?? '').slice(0, 254);
    const verifying = login
      .login({ username, password, address: proxies.addressOf(request), userAgent, type: 'basic' })
      .then((done) => ({ login: done, until: performance.now() + cacheMs }));
    if (this.#verified.size >= maxCached) this.#verified.delete(this.#verified.keys().next().value!);
    this.#verified.set(key, verifying);
    verifying.catch(() => this.#forget(key, verifying));
    return verifying;
  }

  #forget(key: string, verifying: Promise<Verified>): void {
    if (this.#verified.get(key) === verifying) this.#verified.delete(key);
  }

  async #find(key: string): Promise<UserInfo | undefined> {
    const [id, passwordChanged] = key.split(' ') as [string, string];
    const { rows } = await findUser.run(this.#options.database.pool, { id, passwordChanged });
    return rows[0] === undefined
      ? undefined
      : withCredentialId(userInfoOf(principalOf(rows[0])), formatCredentialId('PASSWORD', id));
  }
}

function translate(error: unknown): StatusError {
  if (!isAccessError(error)) {
    const unavailable = newServiceUnavailable(`the password cannot be checked at the moment${failureSuffix(error)}`);
    unavailable.cause = error;
    return unavailable;
  }
  return error.status === 429
    ? newTooManyRequests('too many passwords are being checked; try again later')
    : newUnauthorized();
}
