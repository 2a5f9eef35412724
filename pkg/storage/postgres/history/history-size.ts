import type { Pool } from 'pg';

/** Changes from the end of the previous part up to a revision. */
interface Part {
  upTo: number;
  size: number;
}

/**
 * Measures the size of the kept history. Of the sums from earlier measurements, only the oldest part is summed again.
 */
export class HistorySize {
  readonly #pool: Pool;
  #parts: Part[] = [];

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** The revision up to which history must be deleted to be no larger than `maxSizeBytes`; 0 if it is small enough. */
  async excess(compacted: number, newest: number, maxSizeBytes: number): Promise<number> {
    await this.#measure(compacted, newest);
    const total = this.#parts.reduce((sum, { size }) => sum + size, 0);
    if (total <= maxSizeBytes) return 0;
    const { rows } = await this.#pool.query<{ rev: string }>(
      'SELECT rev FROM (SELECT rev, sum(size) OVER (ORDER BY rev) AS total FROM platform.change_log WHERE rev > $1) t WHERE total >= $2 ORDER BY rev LIMIT 1',
      [compacted, total - maxSizeBytes],
    );
    return Number(rows[0]?.rev ?? 0);
  }

  async #measure(compacted: number, newest: number): Promise<void> {
    const kept = this.#parts.filter(({ upTo }) => upTo > compacted);
    const counted = Math.max(this.#parts.at(-1)?.upTo ?? 0, compacted);
    const [first] = kept;
    // Another replica may have removed some of the oldest part.
    if (first !== undefined) first.size = await this.#sum(compacted, first.upTo);
    if (newest > counted) kept.push({ upTo: newest, size: await this.#sum(counted, newest) });
    this.#parts = kept;
  }

  async #sum(after: number, upTo: number): Promise<number> {
    const { rows } = await this.#pool.query<{ size: string }>(
      'SELECT coalesce(sum(size), 0) AS size FROM platform.change_log WHERE rev > $1 AND rev <= $2',
      [after, upTo],
    );
    return Number(rows[0]!.size);
  }
}
