import type { Logger } from 'pino';
import { sql } from 'kysely';
import { PreparedStatement, type Placeholders } from '#pkg/database/index';
import type { AccessDatabase } from '../access-database.ts';
import { accessQuery } from '../access-tables.ts';
import type { Audit } from '../audit/audit.ts';
import type { FoundToken } from './token-store.ts';

const flushIntervalMs = 5_000;
/** Minimum time between two audit rows about the failed use of one token, per process. */
const repeatIntervalMs = 60_000;
/** Maximum number of tokens in memory; further ones are ignored. */
const maxPending = 10_000;

export interface TokenUsesParts {
  database: AccessDatabase;
  audit: Audit;
  log: Logger;
}

interface FailedUse {
  token: FoundToken;
  address: string;
}

/**
 * Records uses of tokens, and failed uses of invalid ones, a few seconds later and in batches: no request waits for it.
 * Starts by itself; `stop` writes the rest.
 */
export class TokenUses {
  readonly #parts: TokenUsesParts;
  /** Time of the last use, by token. */
  #used = new Map<string, Date>();
  #failed: FailedUse[] = [];
  /** Time of the last recorded failed use, by token. */
  readonly #noted = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(parts: TokenUsesParts) {
    this.#parts = parts;
  }

  noteUse(tokenId: string): void {
    if (this.#used.size >= maxPending) return;
    this.#used.set(tokenId, new Date());
    this.#schedule();
  }

  /** Records the use of a token that is revoked or expired, or whose owner is not valid. */
  noteFailure(token: FoundToken, address: string): void {
    const now = Date.now();
    const noted = this.#noted.get(token.token_id);
    if (noted !== undefined && now - noted < repeatIntervalMs) return;
    // Also makes room, as a flush deletes old entries.
    this.#schedule();
    if (this.#noted.size >= maxPending) return;
    this.#noted.set(token.token_id, now);
    this.#failed.push({ token, address });
  }

  /** Call it after the last use of a token, while the database is still open. Never rejects. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.flush();
  }

  /** Writes the pending uses; never rejects. */
  flush(): Promise<void> {
    const [used, failed] = [this.#used, this.#failed];
    this.#used = new Map();
    this.#failed = [];
    for (const [id, time] of this.#noted) if (Date.now() - time >= repeatIntervalMs) this.#noted.delete(id);
    this.#writing = this.#writing.then(() => this.#write(used, failed));
    return this.#writing;
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.flush();
    }, flushIntervalMs);
  }

  async #write(used: ReadonlyMap<string, Date>, failed: readonly FailedUse[]): Promise<void> {
    try {
      if (used.size > 0)
        await noteUses.run(this.#parts.database.pool, { ids: [...used.keys()], times: [...used.values()] });
      for (const { token, address } of failed) {
        const { username, token_name: resource } = token;
        await this.#parts.audit.recordOperation({
          actor: undefined,
          action: 'failed_use',
          resourceType: 'personal_token',
          resource,
          detail: `of ${username}: ${reasonOf(token)}`,
          address,
        });
      }
    } catch (error) {
      this.#parts.log.warn({ err: error }, 'could not record the use of tokens');
    }
  }
}

function reasonOf({ is_usable: isUsable }: FoundToken): string {
  return isUsable ? 'the user is disabled or has expired' : 'the token was revoked or has expired';
}

/**
 * Stores the time of the use, not that of the write: a use before a revocation must not seem to come after it. Does not
 * wait for another replica that updates the same rows.
 */
const noteUses = new PreparedStatement(
  'tokens-used',
  ($: Placeholders<{ ids: readonly string[]; times: readonly Date[] }>) =>
    accessQuery
      .updateTable('access.personal_tokens as token')
      .from(
        sql<{ id: string; at: Date }>`unnest(${$.ids}::uuid[], ${$.times}::timestamptz[])`.as<'used'>(
          sql`used (id, at)`,
        ),
      )
      .set((eb) => ({ last_used: eb.ref('used.at') }))
      .whereRef('token.id', '=', 'used.id')
      .where('token.id', 'in', (eb) =>
        eb
          .selectFrom('access.personal_tokens')
          .select('id')
          .where((token) => token('id', '=', token.fn.any($.ids)))
          .where((token) =>
            token.or([token('last_used', 'is', null), token('last_used', '<', sql<Date>`now() - interval '1 minute'`)]),
          )
          .forNoKeyUpdate()
          .skipLocked(),
      ),
);
