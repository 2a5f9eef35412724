import * as crypto from 'node:crypto';
import { sql } from 'kysely';
import type { Pool } from 'pg';
import { PreparedStatement, type Database, type Placeholders } from '#pkg/database/index';
import { accessQuery } from '../access-tables.ts';
import type { PrincipalRow } from '../principals/principals.ts';

const statementTimeoutMs = 5_000;
/** After this time without an answer the connection counts as lost: its other end has gone without closing it. */
const queryTimeoutMs = 6_000;
const maxBatchSize = 100;

/** A token that was found, valid or not, and its owner's current state. */
export interface FoundToken extends PrincipalRow {
  token_id: string;
  token_name: string;
  /** Roles that it is restricted to; null: not restricted. */
  roles: string[] | null;
  /** Milliseconds since 1970; null: never expires. */
  token_expires: number | null;
  /** Neither revoked nor expired. */
  is_usable: boolean;
  /** Its last use was stored more than a minute ago. */
  is_stale: boolean;
}

interface PendingLookup {
  readonly hash: Buffer;
  readonly answer: (found: FoundToken | undefined) => void;
  readonly fail: (error: unknown) => void;
}

/**
 * Finds personal tokens by their SHA-256: a token has 178 random bits, so a slow hash would add no protection. Lookups
 * that arrive while all connections are busy share the next statement.
 */
export class TokenStore {
  readonly #pool: Pool;
  readonly #poolSize: number;
  readonly #waiting: PendingLookup[] = [];
  #running = 0;

  /** Schema `access` must be up to date. `close`, or the `Database`, closes the `poolSize` connections, 4 by default. */
  constructor(database: Database, { poolSize = 4 }: { poolSize?: number } = {}) {
    this.#poolSize = poolSize;
    this.#pool = database.newPool({
      // A separate pool, as lookups of every request must not wait for longer statements.
      name: 'tokens',
      max: poolSize,
      statementTimeoutMs,
      queryTimeoutMs,
      // Planning takes longer than the statement, and there is only one plan.
      settings: { plan_cache_mode: 'force_generic_plan' },
    });
  }

  static hash(token: string): Buffer {
    return crypto.hash('sha256', token, 'buffer');
  }

  /** Resolves when no look-up runs any more and the connections are closed. */
  close(): Promise<void> {
    return this.#pool.end();
  }

  /** The result is never older than the call. */
  findOwner(hash: Buffer): Promise<FoundToken | undefined> {
    return new Promise((answer, fail) => {
      this.#waiting.push({ hash, answer, fail });
      if (this.#running < this.#poolSize) void this.#lookUpNext();
    });
  }

  async #lookUpNext(): Promise<void> {
    this.#running += 1;
    while (this.#waiting.length > 0) {
      const lookups = this.#waiting.splice(0, maxBatchSize);
      try {
        const found = await this.#findAll(lookups.map(({ hash }) => hash));
        lookups.forEach(({ answer }, index) => answer(found.get(index)));
      } catch (error) {
        for (const { fail } of lookups) fail(error);
      }
    }
    this.#running -= 1;
  }

  async #findAll(hashes: readonly Buffer[]): Promise<ReadonlyMap<number, FoundToken>> {
    const { rows } = await findOwners.run(this.#pool, { hashes });
    return new Map(rows.map(({ found }) => [found.at, found]));
  }
}

/**
 * A replica of the previous release still adds tokens with only the owner's name. They belong to that user, not to a
 * later user of that name. `ensureAdministrator` sets their owner's id at the next start. One JSON value takes pg a
 * third of the time of separate columns.
 */
const findOwners = new PreparedStatement('token-owners', ($: Placeholders<{ hashes: readonly Buffer[] }>) =>
  accessQuery
    .selectFrom(
      sql<{ hash: Buffer; number: string }>`unnest(${$.hashes}::bytea[]) WITH ORDINALITY`.as<'asked'>(
        sql`asked (hash, number)`,
      ),
    )
    .crossJoinLateral((eb) =>
      eb
        .selectFrom('access.personal_tokens as t')
        .innerJoin('access.principals as p', (join) =>
          join.on('p.id', '=', (on) =>
            on.fn.coalesce(
              't.user_id',
              on
                .selectFrom('access.users as u')
                .select('u.id')
                .where('u.username_key', '=', sql<string>`lower(t.username)`)
                .whereRef('u.username', '=', 't.username')
                .whereRef('u.date_joined', '<=', 't.created'),
            ),
          ),
        )
        .select([
          sql<number>`asked.number - 1`.as('at'),
          't.id as token_id',
          't.name as token_name',
          't.roles',
          sql<number | null>`(extract(epoch FROM t.expires) * 1000)::float8`.as('token_expires'),
          sql<boolean>`t.revoked IS NULL AND (t.expires IS NULL OR t.expires > now())`.as('is_usable'),
          sql<boolean>`t.last_used IS NULL OR t.last_used < now() - interval '1 minute'`.as('is_stale'),
        ])
        .selectAll('p')
        .whereRef('t.hash', '=', 'asked.hash')
        .limit(sql.lit(1))
        .as('found'),
    )
    .select(sql<FoundToken & { at: number }>`row_to_json(found)`.as('found')),
);
