import { hash } from 'node:crypto';
import type { AccessDatabase } from '../access-database.ts';
import type { Audit, LoginEntry } from '../audit/audit.ts';
import { FailedUseQuota } from '../audit/failed-use-quota.ts';
import type { PasswordHasher, PasswordCheck } from './password-hasher.ts';
import { TooManyPasswordsError } from './hashing-queue.ts';
import { fold } from '../names/fold-case.ts';
import { AttemptQueue, maxLoginAttempts } from './attempt-queue.ts';
import { LoginAccounts, type LoginAccount } from './login-accounts.ts';
import {
  isOfAddress,
  newAccountLocked,
  newAddressLocked,
  newPasswordChanged,
  newPasswordFailed,
  newUserExpired,
  newUserInactive,
  type LoginError,
} from './login-error.ts';
import { accountKey, addressKey, LoginFailures, type FailureLimit } from './login-failures.ts';
import { maxLoginNameLength } from './credential-fields.ts';

export interface LoginServiceOptions {
  database: AccessDatabase;
  audit: Audit;
  hasher: Pick<PasswordHasher, 'verify' | 'hash'>;
  /** Failures in a row that lock an account, each at most `lockSeconds` after the last. Default 7. */
  accountLimit?: number;
  /** Failures of one address (for IPv6: of one /64) within `lockSeconds` that lock it. Default 100. */
  addressLimit?: number;
  /** Default 30 minutes. */
  lockSeconds?: number;
  /** Attempts in progress at a time. Default 32. */
  maxAttempts?: number;
  /** See `AttemptQueue`. Default 1. */
  processes?: number;
}

export interface LoginRequest extends Pick<LoginEntry, 'type' | 'userAgent'> {
  /** Username or e-mail; case-insensitive, surrounding spaces are ignored. */
  username: string;
  password: string;
  /** The client's address. */
  address: string;
}

/**
 * A user who logged in, and the version of their password: after a change no credential may be issued for this login.
 */
export interface Login {
  id: string;
  username: string;
  /** For `BearerTokens.issue` and `Sessions.create`. */
  passwordChanged: string;
}

/**
 * The only place that checks passwords. It does not reveal whether a user exists: an unknown name costs the same
 * statements, work and counting as a wrong password. Every checked attempt has an audit row; attempts of a locked
 * address have a few per minute.
 */
export class LoginService {
  readonly #audit: Audit;
  readonly #hasher: LoginServiceOptions['hasher'];
  readonly #accounts: LoginAccounts;
  readonly #failures: LoginFailures;
  readonly #accountLimit: FailureLimit;
  readonly #addressLimit: FailureLimit;
  readonly #attempts: AttemptQueue;
  readonly #lockedAddresses: FailedUseQuota;

  constructor({
    database,
    audit,
    hasher,
    accountLimit = 7,
    addressLimit = 100,
    lockSeconds = 1800,
    maxAttempts = maxLoginAttempts,
    processes = 1,
  }: LoginServiceOptions) {
    this.#audit = audit;
    this.#hasher = hasher;
    this.#accounts = new LoginAccounts(database);
    this.#failures = new LoginFailures(database);
    this.#attempts = new AttemptQueue({ inAll: maxAttempts, processes });
    this.#lockedAddresses = new FailedUseQuota({ perAddress: 5, inAll: 500, processes });
    this.#accountLimit = { failures: accountLimit, seconds: lockSeconds, isExtended: true };
    this.#addressLimit = { failures: addressLimit, seconds: lockSeconds, isExtended: false };
  }

  /**
   * @throws LoginError 400 if the password is wrong, or the user inactive or expired, or there were too many failures;
   * AccessError 429 if more clients log in than passwords can be hashed
   */
  async login(request: LoginRequest): Promise<Login> {
    return (await this.loginFor(request, (login) => Promise.resolve(login)))!;
  }

  /**
   * Like `login`, for a credential: the login succeeds once `issue` has issued it. Undefined, and a failed login, if
   * `issue` returns undefined because the password was changed meanwhile.
   */
  loginFor<T>(request: LoginRequest, issue: (login: Login) => Promise<T | undefined>): Promise<T | undefined> {
    return this.#inTurn(request, async (account, key) => {
      const { refusal, needsRehash } = await this.#tryPassword(request, account, key);
      if (refusal !== undefined) return this.#refuse(request, account, refusal);
      if (!account!.is_active) return this.#refuse(request, account, newUserInactive());
      if (account!.is_expired) return this.#refuse(request, account, newUserExpired());
      return this.#completeLogin(request, account!, { needsRehash, issue });
    });
  }

  /**
   * Is it the password of this logged-in user? A failure is a failed login, so that a hijacked session cannot be used to
   * guess unnoticed, but a success is no login. Throws as a login does after too many failures, or for too many attempts
   * at once.
   */
  confirmPassword(request: LoginRequest): Promise<boolean> {
    return this.#inTurn(request, async (account, key) => {
      const { refusal } = await this.#tryPassword(request, account, key);
      if (refusal === undefined) return true;
      await this.#recordFailure(request, account, refusal);
      if (refusal.reason !== 'password_failed') throw refusal;
      return false;
    });
  }

  async #inTurn<T>(
    { username, address }: LoginRequest,
    work: (account: LoginAccount | undefined, key: string) => Promise<T>,
  ): Promise<T> {
    const text = username.trim();
    // No user has such a long name; it counts nevertheless.
    const name = text.length > maxLoginNameLength ? `#${hash('sha256', text)}` : fold(text);
    const given = accountKey(name);
    // A text that PostgreSQL may not accept, and no user has, is replaced by its key; the lookup runs nevertheless.
    const account = await this.#accounts.find(given === `user:${name}` ? name : given);
    const key = account === undefined ? given : accountKey(account.username_key);
    return this.#attempts.run({ account: key, address }, () => work(account, key));
  }

  async #tryPassword(
    { address, password }: LoginRequest,
    account: LoginAccount | undefined,
    key: string,
  ): Promise<{ refusal: LoginError | undefined; needsRehash: boolean }> {
    const from = addressKey(address);
    const byAddress = await this.#failures.take(from, this.#addressLimit);
    if (byAddress.isLocked) return { refusal: newAddressLocked(byAddress.minutes), needsRehash: false };
    // Attempts on a locked account still count for the address.
    const byAccount = await this.#failures.take(key, this.#accountLimit);
    if (byAccount.isLocked) return { refusal: newAccountLocked(byAccount.minutes), needsRehash: false };
    const { isCorrect, needsRehash = false } = await this.#verify(password, account, [key, from]);
    if (!isCorrect) return { refusal: newPasswordFailed(this.#accountLimit), needsRehash };
    await this.#failures.giveBack(from);
    await this.#failures.clear(key);
    return { refusal: undefined, needsRehash };
  }

  /** An attempt that could not be checked does not count. */
  async #verify(password: string, account: LoginAccount | undefined, keys: readonly string[]): Promise<PasswordCheck> {
    try {
      return await this.#hasher.verify(account?.password_hash ?? undefined, password);
    } catch (error) {
      for (const key of keys) await this.#failures.giveBack(key);
      throw error;
    }
  }

  async #completeLogin<T>(
    request: LoginRequest,
    account: LoginAccount,
    { needsRehash, issue }: { needsRehash: boolean; issue: (login: Login) => Promise<T | undefined> },
  ): Promise<T | undefined> {
    const { id, username, password_hash: stored, password_changed: passwordChanged } = account;
    const issued = await issue({ id, username, passwordChanged });
    if (issued === undefined) {
      await this.#recordFailure(request, account, newPasswordChanged());
      return undefined;
    }
    await this.#audit.recordLogin({ ...entryOf(request), username, userId: id, isSuccess: true });
    await this.#accounts.setLastLogin(id);
    if (needsRehash) await this.#rehash(id, stored!, request.password);
    return issued;
  }

  async #rehash(id: string, from: string, password: string): Promise<void> {
    try {
      await this.#accounts.rehash(id, { from, to: await this.#hasher.hash(password) });
    } catch (error) {
      // The next login rehashes it.
      if (!(error instanceof TooManyPasswordsError)) throw error;
    }
  }

  async #refuse(request: LoginRequest, account: LoginAccount | undefined, error: LoginError): Promise<never> {
    await this.#recordFailure(request, account, error);
    throw error;
  }

  async #recordFailure(request: LoginRequest, account: LoginAccount | undefined, error: LoginError): Promise<void> {
    // An attempt of a locked address was not checked, and with Basic every request is an attempt.
    if (isOfAddress(error) && !this.#lockedAddresses.take(request.address)) return;
    await this.#audit.recordLogin({ ...entryOf(request), userId: account?.id, isSuccess: false, reason: error.reason });
  }
}

function entryOf({
  username,
  type,
  address,
  userAgent,
}: LoginRequest): Pick<LoginEntry, 'username' | 'type' | 'address' | 'userAgent'> {
  return { username, type, address, userAgent };
}
