import { hash } from 'node:crypto';
import type { AccessDatabase } from '../access-database.ts';
import { networkOf } from '#pkg/http/index';

export interface FailureLimit {
  /** So many failures lock. */
  failures: number;
  /** Within this time; so long is the lock, too. Seconds. */
  seconds: number;
  /** Does every failure begin the time anew? Else it begins with the first of them. */
  isExtended: boolean;
}

/** What became of an attempt: may it go on, or when will it be worth trying again? */
export type AttemptOutcome = { isLocked: false } | { isLocked: true; minutes: number };

/** What an index takes in any script; a username or an e-mail address is no longer, folded. */
const longestKey = 512;

/**
 * Whose failures count together, whether there is such a user or not: the folded username, else the folded text that
 * was given.
 */
export function accountKey(folded: string): string {
  // What no user can be called, and an index would not take.
  const isOdd = folded.length > longestKey || /[\p{Cc}\p{Cs}]/u.test(folded);
  return `user:${isOdd ? `#${hash('sha256', folded)}` : folded}`;
}

export const addressKey = (address: string): string => `ip:${networkOf(address)}`;

/**
 * Failed logins, counted in the database for all replicas. An attempt counts as failed before the password is looked
 * at, and is given back where it was right: however many guess at once, no more than the limit are ever looked at.
 * While locked nothing counts, so that a lock ends.
 */
export class LoginFailures {
  readonly #database: AccessDatabase;

  constructor(database: AccessDatabase) {
    this.#database = database;
  }

  async take(key: string, { failures, seconds, isExtended }: FailureLimit): Promise<AttemptOutcome> {
    const { rows } = await this.#database.pool.query<{ count: number }>({
      name: 'login-failure-take',
      text: `INSERT INTO access.login_failures AS f (key, count, since, expires) VALUES ($1, 1, now(), now() + make_interval(secs => $3))
        ON CONFLICT (key) DO UPDATE SET
          count = CASE WHEN f.expires <= now() THEN 1 ELSE f.count + 1 END,
          since = CASE WHEN f.expires <= now() THEN excluded.since ELSE f.since END,
          expires = CASE WHEN $4 OR f.expires <= now() OR f.count + 1 >= $2 THEN excluded.expires ELSE f.expires END
        WHERE f.expires <= now() OR f.count < $2
        RETURNING count`,
      values: [key, failures, seconds, isExtended],
    });
    if (rows[0] !== undefined) return { isLocked: false };
    return { isLocked: true, minutes: await this.#minutesLeft(key) };
  }

  /** It was no failure. */
  async giveBack(key: string): Promise<void> {
    await this.#database.pool.query({
      name: 'login-failure-give-back',
      text: 'UPDATE access.login_failures SET count = count - 1 WHERE key = $1 AND count > 0',
      values: [key],
    });
  }

  /** Forgets what went before. */
  async clear(key: string): Promise<void> {
    await this.#database.pool.query({
      name: 'login-failure-clear',
      text: 'DELETE FROM access.login_failures WHERE key = $1',
      values: [key],
    });
  }

  async #minutesLeft(key: string): Promise<number> {
    const { rows } = await this.#database.pool.query<{ minutes: number }>({
      name: 'login-failure-rest',
      text: 'SELECT GREATEST(1, ceil(extract(epoch FROM expires - now()) / 60))::integer AS minutes FROM access.login_failures WHERE key = $1',
      values: [key],
    });
    return rows[0]?.minutes ?? 1;
  }
}
