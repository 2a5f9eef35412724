import { hash } from 'node:crypto';
import { sql } from 'kysely';
import { PreparedStatement, runQuery, type Placeholders, type Queryable } from '#pkg/database/index';
import { networkOf } from '#pkg/http/index';
import type { AccessDatabase } from '../access-database.ts';
import { accessQuery, currentTime } from '../access-tables.ts';

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

const takeAttempt = new PreparedStatement('login-failure-take', ($: Placeholders<FailureLimit & { key: string }>) => {
  const isOver = sql<boolean>`login_failures.expires <= now()`;
  return accessQuery
    .insertInto('access.login_failures')
    .values({
      key: $.key,
      count: 1,
      since: currentTime,
      expires: sql<Date>`now() + make_interval(secs => ${$.seconds})`,
    })
    .onConflict((conflict) =>
      conflict
        .column('key')
        .doUpdateSet({
          count: sql`CASE WHEN ${isOver} THEN 1 ELSE login_failures.count + 1 END`,
          since: sql`CASE WHEN ${isOver} THEN excluded.since ELSE login_failures.since END`,
          expires: sql`CASE WHEN ${$.isExtended} OR ${isOver} OR login_failures.count + 1 >= ${$.failures} THEN excluded.expires ELSE login_failures.expires END`,
        })
        .where((eb) => eb.or([isOver, eb('access.login_failures.count', '<', $.failures)])),
    )
    .returning('count');
});

const giveBackAttempt = new PreparedStatement('login-failure-give-back', ($: Placeholders<{ key: string }>) =>
  accessQuery
    .updateTable('access.login_failures')
    .set((eb) => ({ count: eb('count', '-', 1) }))
    .where('key', '=', $.key)
    .where('count', '>', 0),
);

const clearFailures = new PreparedStatement('login-failure-clear', ($: Placeholders<{ key: string }>) =>
  accessQuery.deleteFrom('access.login_failures').where('key', '=', $.key),
);

const findMinutesLeft = new PreparedStatement('login-failure-rest', ($: Placeholders<{ key: string }>) =>
  accessQuery
    .selectFrom('access.login_failures')
    .select(sql<number>`greatest(1, ceil(extract(epoch FROM expires - now()) / 60))::integer`.as('minutes'))
    .where('key', '=', $.key),
);

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

/** All of a user's, who may have several keys. */
export async function forgetFailures(keys: readonly string[], on: Queryable): Promise<void> {
  const failures = accessQuery
    .deleteFrom('access.login_failures')
    .where((eb) => eb('key', '=', eb.fn.any(eb.val(keys))));
  await runQuery(on, failures, 'user-unblock');
}

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

  async take(key: string, limit: FailureLimit): Promise<AttemptOutcome> {
    const { rows } = await takeAttempt.run(this.#database.pool, { ...limit, key });
    if (rows[0] !== undefined) return { isLocked: false };
    return { isLocked: true, minutes: await this.#minutesLeft(key) };
  }

  /** It was no failure. */
  async giveBack(key: string): Promise<void> {
    await giveBackAttempt.run(this.#database.pool, { key });
  }

  /** Forgets what went before. */
  async clear(key: string): Promise<void> {
    await clearFailures.run(this.#database.pool, { key });
  }

  async #minutesLeft(key: string): Promise<number> {
    const { rows } = await findMinutesLeft.run(this.#database.pool, { key });
    return rows[0]?.minutes ?? 1;
  }
}
