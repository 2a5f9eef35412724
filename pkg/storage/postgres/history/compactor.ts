import type { Pool } from 'pg';
import type { Database } from '#pkg/database/index';
import type { CompactionLimits } from '../../store.ts';
import { revisionLock } from '../connection/revision-lock.ts';
import { SessionLock } from '../connection/session-lock.ts';
import { HistorySize } from './history-size.ts';

const compactionLock = 816;
/** Rows removed per acquisition of the revision lock: writers wait for it. */
const stepRows = 500;
/** Maximum number of steps in one round. */
const maxSteps = 2000;

interface Bounds {
  first_kept: string | null;
  newest: string;
  compacted: string;
}

/** Removes history beyond the limits of age and size, step by step, and expired idempotency keys. */
export class Compactor {
  readonly #database: Database;
  readonly #pool: Pool;
  readonly #size: HistorySize;
  /**
   * Up to this revision, only rows that an idempotency key names are left. Removals by other replicas keep this true.
   */
  #swept = 0;

  constructor(database: Database, pool: Pool) {
    this.#database = database;
    this.#pool = pool;
    this.#size = new HistorySize(pool);
  }

  /** Runs one round; returns at once if another replica is compacting, and soon after `signal` aborts. */
  async run(limits: CompactionLimits, signal?: AbortSignal): Promise<void> {
    const lock = await SessionLock.open(this.#database);
    const isOver = (): boolean => lock.lost.aborted || signal?.aborted === true;
    try {
      const { rows } = await lock.query<{ locked: boolean }>(
        `SELECT pg_try_advisory_lock(${compactionLock}) AS locked`,
      );
      if (rows[0]?.locked !== true) return;
      await this.#repeat(isOver, () => this.#expireStep(limits.idempotencyKeyAgeMs));
      if (isOver()) return;
      const upTo = await this.#declare(limits);
      await this.#repeat(isOver, () => this.#removeStep(upTo));
      await this.#repeat(isOver, () => this.#removeUsageStep());
    } finally {
      await lock.release();
    }
  }

  /** Repeats `step` until it returns that nothing is left. */
  async #repeat(isOver: () => boolean, step: () => Promise<boolean>): Promise<void> {
    for (let i = 0; i < maxSteps && !isOver(); i += 1) if (!(await step())) return;
  }

  /** Removes expired idempotency keys and the log rows that were kept for them. */
  async #expireStep(ageMs: number): Promise<boolean> {
    const { rows } = await this.#pool.query<{ expired: string }>(
      `WITH old AS MATERIALIZED (SELECT now() - $1 * interval '1 millisecond' AS at),
         expired AS (DELETE FROM platform.idempotency_keys k WHERE ctid = ANY (ARRAY(SELECT ctid FROM platform.idempotency_keys WHERE at < (SELECT at FROM old) LIMIT ${stepRows})) RETURNING rev),
         locked AS MATERIALIZED (SELECT pg_advisory_xact_lock(${revisionLock}) FROM (SELECT count(*) AS n FROM expired) e WHERE n > 0),
         gone AS (DELETE FROM platform.change_log c USING locked WHERE c.rev = ANY (ARRAY(SELECT rev FROM expired)) AND c.rev <= (SELECT compacted FROM platform.meta)
           AND NOT EXISTS (SELECT FROM platform.idempotency_keys k WHERE k.rev = c.rev AND k.at >= (SELECT at FROM old)))
       SELECT count(*) AS expired FROM expired`,
      [ageMs],
    );
    return Number(rows[0]!.expired) === stepRows;
  }

  /**
   * Raises `compacted` before rows are deleted, so that no reader sees a history with gaps. Returns the newest revision
   * that may be deleted.
   */
  async #declare({ minAgeMs, maxSizeBytes }: CompactionLimits): Promise<number> {
    const { rows } = await this.#pool.query<Bounds>(
      // Scans from the oldest row: only rows that will be deleted are read.
      `SELECT (SELECT rev FROM platform.change_log WHERE rev > meta.compacted AND at >= now() - $1 * interval '1 millisecond' ORDER BY rev LIMIT 1) AS first_kept,
         (SELECT max(rev) FROM platform.change_log) AS newest, compacted FROM platform.meta`,
      [minAgeMs],
    );
    const { first_kept, newest, compacted } = rows[0]!;
    const byAge = Number(first_kept ?? newest) - 1;
    const bySize = await this.#size.excess(Number(compacted), Number(newest), maxSizeBytes);
    // Never the newest row.
    const upTo = Math.min(Math.max(byAge, bySize), Number(newest) - 1);
    const last = await this.#lastRow(upTo);
    if (last <= Number(compacted)) return Number(compacted);
    await this.#pool.query(
      `WITH locked AS MATERIALIZED (SELECT pg_advisory_xact_lock(${revisionLock})) UPDATE platform.meta SET compacted = greatest(compacted, $1) FROM locked`,
      [last],
    );
    await this.#pool.query('DELETE FROM platform.gaps WHERE up_to <= $1', [last]);
    return last;
  }

  /**
   * The newest row not above `upTo`. A revision that no write used has no row: a reader at the row before it has lost
   * nothing, and must not be told that it has. 0 if there is none.
   */
  async #lastRow(upTo: number): Promise<number> {
    const { rows } = await this.#pool.query<{ rev: string | null }>(
      'SELECT max(rev) AS rev FROM platform.change_log WHERE rev <= $1',
      [upTo],
    );
    return Number(rows[0]!.rev ?? 0);
  }

  /** Keeps rows that an idempotency key still names, and does not check them again. */
  async #removeStep(upTo: number): Promise<boolean> {
    const { rows } = await this.#pool.query<{ last: string | null; looked: string }>(
      `WITH step AS MATERIALIZED (SELECT rev FROM platform.change_log WHERE rev > $1 AND rev <= $2 AND rev < (SELECT max(rev) FROM platform.change_log) ORDER BY rev LIMIT ${stepRows}),
         gone AS MATERIALIZED (SELECT rev FROM step WHERE NOT EXISTS (SELECT FROM platform.idempotency_keys k WHERE k.rev = step.rev)),
         locked AS MATERIALIZED (SELECT pg_advisory_xact_lock(${revisionLock}) FROM (SELECT count(*) AS n FROM gone) g WHERE n > 0),
         removed AS (DELETE FROM platform.change_log c USING locked WHERE c.rev = ANY (ARRAY(SELECT rev FROM gone)))
       SELECT max(rev) AS last, count(*) AS looked FROM step`,
      [this.#swept, upTo],
    );
    const { last, looked } = rows[0]!;
    const isMore = Number(looked) === stepRows;
    this.#swept = isMore ? Number(last) : upTo;
    return isMore;
  }

  /** Only the newest row of each limit counts. */
  async #removeUsageStep(): Promise<boolean> {
    const { rowCount } = await this.#pool.query(
      `DELETE FROM platform.quota_usage WHERE ctid = ANY (ARRAY(SELECT u.ctid FROM platform.quota_usage u
         WHERE EXISTS (SELECT FROM platform.quota_usage later WHERE later.namespace = u.namespace AND later.model = u.model AND later.id > u.id) LIMIT ${stepRows}))`,
    );
    return rowCount === stepRows;
  }
}
