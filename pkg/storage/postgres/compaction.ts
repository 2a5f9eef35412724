import type { Pool } from 'pg';
import type { Database } from '#pkg/database/index';
import type { CompactionLimits } from '../store.ts';
import { revisionLock } from './batch-statement.ts';

const compactionLock = 816;
const stepRows = 2000;
const claimStep = 10_000;
/** Rows looked at to find how much history fits. */
const steps = 500;

/** Removes history that is too old or too much, step by step, and claims that have expired. */
export class Compactor {
  readonly #database: Database;
  readonly #pool: Pool;

  constructor(database: Database, pool: Pool) {
    this.#database = database;
    this.#pool = pool;
  }

  /** One round; at once if another replica is at it. */
  async run(limits: CompactionLimits): Promise<void> {
    const client = await this.#database.newClient();
    try {
      const { rows } = await client.query<{ locked: boolean }>(`SELECT pg_try_advisory_lock(${compactionLock}) AS locked`);
      if (rows[0]?.locked !== true) return;
      await this.#expireClaims(limits.claimAge);
      const upTo = await this.#boundary(limits);
      if (upTo === undefined) return;
      await this.#declare(upTo);
      for (let i = 0; i < steps && (await this.#removeStep()) > 0; i += 1);
    } finally {
      await client.end();
    }
  }

  async #expireClaims(age: number): Promise<void> {
    for (let expired = claimStep; expired === claimStep; ) {
      const { rowCount } = await this.#pool.query(
        `DELETE FROM platform.idempotency_keys WHERE ctid = ANY (ARRAY(SELECT ctid FROM platform.idempotency_keys WHERE at < now() - $1 * interval '1 millisecond' LIMIT ${claimStep}))`,
        [age],
      );
      expired = rowCount ?? 0;
    }
  }

  /** The newest revision that may go, if that is more than what is gone already; never the newest row. */
  async #boundary({ minAge, maxSize }: CompactionLimits): Promise<number | undefined> {
    const { rows } = await this.#pool.query<{ first_kept: string | null; size: string; newest: string; compacted: string }>(
      // From the old end: what is looked at is what will go.
      `SELECT (SELECT rev FROM platform.change_log WHERE at >= now() - $1 * interval '1 millisecond' ORDER BY rev LIMIT 1) AS first_kept,
         (SELECT coalesce(sum(size), 0) FROM platform.change_log) AS size, (SELECT max(rev) FROM platform.change_log) AS newest, compacted FROM platform.meta`,
      [minAge],
    );
    const row = rows[0]!;
    const byAge = Number(row.first_kept ?? row.newest) - 1;
    const bySize = Number(row.size) > maxSize ? await this.#boundaryBySize(Number(row.size) - maxSize) : 0;
    const upTo = Math.min(Math.max(byAge, bySize), Number(row.newest) - 1);
    return upTo > Number(row.compacted) ? upTo : undefined;
  }

  async #boundaryBySize(excess: number): Promise<number> {
    const { rows } = await this.#pool.query<{ rev: string }>(
      'SELECT rev FROM (SELECT rev, sum(size) OVER (ORDER BY rev) AS total FROM platform.change_log) t WHERE total >= $1 ORDER BY rev LIMIT 1',
      [excess],
    );
    return Number(rows[0]?.rev ?? 0);
  }

  /** First the word, then the deed: nobody reads a history with holes. */
  async #declare(upTo: number): Promise<void> {
    await this.#pool.query(
      `WITH locked AS MATERIALIZED (SELECT pg_advisory_xact_lock(${revisionLock})) UPDATE platform.meta SET compacted = greatest(compacted, $1) FROM locked`,
      [upTo],
    );
  }

  /** Spares what an idempotency key still names. */
  async #removeStep(): Promise<number> {
    const { rowCount } = await this.#pool.query(
      `WITH locked AS MATERIALIZED (SELECT pg_advisory_xact_lock(${revisionLock})), old AS MATERIALIZED (
         SELECT rev FROM platform.change_log c WHERE rev <= (SELECT compacted FROM platform.meta)
           AND NOT EXISTS (SELECT FROM platform.idempotency_keys k WHERE k.rev = c.rev) ORDER BY rev LIMIT ${stepRows})
       DELETE FROM platform.change_log USING locked, old WHERE change_log.rev = old.rev AND change_log.rev < (SELECT max(rev) FROM platform.change_log)`,
    );
    return rowCount ?? 0;
  }
}
