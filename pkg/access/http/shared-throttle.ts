import { sql } from 'kysely';
import { PreparedStatement, type DatabaseLog, type Placeholders } from '#pkg/database/index';
import { networkOf, type Throttle } from '#pkg/http/index';
import type { AccessDatabase } from '../access-database.ts';
import { accessQuery } from '../access-tables.ts';

export interface SharedThrottleOptions {
  database: AccessDatabase;
  log: DatabaseLog;
  /** Requests per minute of an address without a valid credential. Default 2048. */
  anonymous?: number;
  /** Requests per minute of a user. Default 4096. */
  user?: number;
}

/** Requests that one key may still make in this minute without another query. */
interface Allowance {
  /** Reserved but not used yet. */
  left: number;
  /** Counted so far by all replicas, as of the last query. */
  used: number;
  /** End of the minute, by `performance.now()`. */
  endsAt: number;
  /** The query in progress, which other requests wait for. */
  asking: Promise<void> | undefined;
}

const countUses = new PreparedStatement('throttle', ($: Placeholders<{ key: string; size: number }>) =>
  accessQuery
    .insertInto('access.throttles')
    .values({ key: $.key, minute: sql<Date>`date_trunc('minute', now())`, used: $.size })
    .onConflict((conflict) =>
      conflict
        .columns(['key', 'minute'])
        .doUpdateSet((eb) => ({ used: eb('access.throttles.used', '+', eb.ref('excluded.used')) })),
    )
    .returning([
      'used',
      sql<number>`extract(epoch FROM minute + interval '1 minute' - now())::float8`.as('seconds_left'),
    ]),
);

const maxKeys = 20_000;
/**
 * A block is this fraction of the rest, so that blocks become small near the limit, and other replicas hold few unused
 * requests.
 */
const partOfRest = 32;

/**
 * Counts in the database, in blocks of requests: most requests need no query, and all replicas together stay within the
 * limit. The minute is the database's. While the database does not answer, each replica counts for itself, as requests
 * that need the database fail anyway.
 */
export class SharedThrottle implements Throttle {
  readonly #database: AccessDatabase;
  readonly #log: DatabaseLog;
  readonly #limits: { anonymous: number; user: number };
  readonly #allowances = new Map<string, Allowance>();
  #lastComplaintAt = -Infinity;

  constructor({ database, log, anonymous = 2048, user = 4096 }: SharedThrottleOptions) {
    this.#database = database;
    this.#log = log;
    this.#limits = { anonymous, user };
  }

  async take(key: string): Promise<number | undefined> {
    const isAddress = key.startsWith('ip:');
    const limit = isAddress ? this.#limits.anonymous : this.#limits.user;
    const counted = isAddress ? `ip:${networkOf(key.slice(3))}` : key;
    for (;;) {
      const allowance = this.#allowanceOf(counted);
      if (allowance.left > 0) {
        allowance.left -= 1;
        return undefined;
      }
      if (allowance.used >= limit) return Math.max(1, Math.ceil((allowance.endsAt - performance.now()) / 1000));
      allowance.asking ??= this.#reserve(counted, allowance, limit);
      await allowance.asking;
    }
  }

  #allowanceOf(key: string): Allowance {
    const known = this.#allowances.get(key);
    if (known !== undefined && (known.asking !== undefined || performance.now() < known.endsAt)) return known;
    const allowance: Allowance = { left: 0, used: 0, endsAt: Infinity, asking: undefined };
    // Reinserted at the end, as the first ones are dropped.
    this.#allowances.delete(key);
    this.#allowances.set(key, allowance);
    if (this.#allowances.size > maxKeys) this.#allowances.delete(this.#allowances.keys().next().value!);
    return allowance;
  }

  async #reserve(key: string, allowance: Allowance, limit: number): Promise<void> {
    const size = Math.max(1, Math.floor((limit - allowance.used) / partOfRest));
    const { used, secondsLeft } = await this.#count(key, size, allowance);
    // Requests beyond the limit were not granted.
    allowance.left = Math.max(0, size - Math.max(0, used - limit));
    allowance.used = used;
    allowance.endsAt = performance.now() + secondsLeft * 1000;
    allowance.asking = undefined;
  }

  /** Never rejects. */
  async #count(key: string, size: number, { used }: Allowance): Promise<{ used: number; secondsLeft: number }> {
    try {
      const { rows } = await countUses.run(this.#database.pool, { key, size });
      return { used: rows[0]!.used, secondsLeft: rows[0]!.seconds_left };
    } catch (error) {
      this.#complain(error);
      return { used: used + size, secondsLeft: 60 - ((Date.now() / 1000) % 60) };
    }
  }

  #complain(error: unknown): void {
    if (performance.now() - this.#lastComplaintAt < 60_000) return;
    this.#lastComplaintAt = performance.now();
    this.#log.warn(
      { err: error },
      'could not count requests in the database; until that works again, each replica counts its own requests',
    );
  }
}
