import { hash } from 'node:crypto';
import { sql } from 'kysely';
import { PreparedStatement, runQuery, type Placeholders, type Queryable } from '#pkg/database/index';
import { networkOf } from '#pkg/http/index';
import type { AccessDatabase } from '../access-database.ts';
import { accessQuery, currentTime } from '../access-tables.ts';

export interface FailureLimit {
  /** Number of failures that lock. */
  failures: number;
  /** Time window of the failures, and duration of the lock. Seconds. */
  seconds: number;
  /** Does every failure restart the window? Else the first failure starts it. */
  isExtended: boolean;
}

/** May the attempt continue? If not, minutes until the lock ends. */
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

/** Fits into an index in any script; folded usernames and e-mail addresses are not longer. */
const maxKeyLength = 512;

/**
 * Key under which failures are counted, whether or not the user exists: the folded username, else the folded text of
 * the request.
 */
export function accountKey(folded: string): string {
  // Texts that no username can be, and an index would not accept.
  const isOdd = folded.length > maxKeyLength || /[\p{Cc}\p{Cs}]/u.test(folded);
  return `user:${isOdd ? `#${hash('sha256', folded)}` : folded}`;
}

export const addressKey = (address: string): string => `ip:${networkOf(address)}`;

/** Deletes the failures of a user, who may have several keys. */
export async function forgetFailures(keys: readonly string[], on: Queryable): Promise<void> {
  const failures = accessQuery
    .deleteFrom('access.login_failures')
    .where((eb) => eb('key', '=', eb.fn.any(eb.val(keys))));
  await runQuery(on, failures, 'user-unblock');
}

/**
 * Counts failed logins in the database, for all replicas. An attempt counts as failed before the password is checked,
 * and is subtracted if it was right: concurrent attempts cannot exceed the limit. While locked nothing is counted, so
 * that a lock ends.
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

  /** Subtracts an attempt that did not fail. */
  async giveBack(key: string): Promise<void> {
    await giveBackAttempt.run(this.#database.pool, { key });
  }

  /** Resets the count. */
  async clear(key: string): Promise<void> {
    await clearFailures.run(this.#database.pool, { key });
  }

  async #minutesLeft(key: string): Promise<number> {
    const { rows } = await findMinutesLeft.run(this.#database.pool, { key });
    return rows[0]?.minutes ?? 1;
  }
}
