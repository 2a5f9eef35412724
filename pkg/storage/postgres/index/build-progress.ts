import type { Pool } from 'pg';
import type { IndexBuildProgress } from '../../store.ts';
import { estimateProgress, withSample, type ProgressSample } from './estimate-progress.ts';

/** The row of pg_stat_progress_create_index. `bigint` columns are strings. */
interface ProgressRow {
  /** Null if this session's role may not see that of the build. */
  phase: string | null;
  lockers_total: string | null;
  lockers_done: string | null;
  current_locker_pid: string | null;
  blocks_total: string | null;
  blocks_done: string | null;
  tuples_total: string | null;
  tuples_done: string | null;
}

const columns =
  'phase, lockers_total, lockers_done, current_locker_pid, blocks_total, blocks_done, tuples_total, tuples_done';

/**
 * How far this process has come with one index: it counts the rows that it fills itself, and asks PostgreSQL about a
 * running CREATE INDEX. Other replicas do not know it.
 */
export class BuildProgress {
  /** Name of the index. */
  readonly index: string;
  #phase = 'starting';
  #samples: ProgressSample[] = [];
  /** The process id of the session that runs CREATE INDEX. */
  #pid: number | undefined;

  constructor(index: string) {
    this.index = index;
  }

  /** `done` of `total` rows have the column's value. */
  filled(done: number, total: number): void {
    this.#sample('filling its column', done, total);
  }

  /** From now on the session with this process id runs the statements that create the index. */
  creating(pid: number): void {
    this.#pid = pid;
    this.#enter('creating the index');
  }

  async read(pool: Pool): Promise<IndexBuildProgress> {
    if (this.#pid === undefined) return this.#estimate();
    const { rows } = await pool.query<ProgressRow>(
      `SELECT ${columns} FROM pg_stat_progress_create_index WHERE pid = $1 AND datname = current_database()`,
      [this.#pid],
    );
    const row = rows[0];
    if (row === undefined || row.phase === null) return { phase: this.#phase };
    const transactions = Number(row.lockers_total) - Number(row.lockers_done);
    if (row.phase.startsWith('waiting for') && transactions > 0) {
      this.#enter(row.phase);
      const pid = Number(row.current_locker_pid);
      return { phase: row.phase, waitsFor: { transactions, ...(pid > 0 ? { pid } : {}) } };
    }
    const [done, total] = counters(row);
    this.#sample(row.phase, done, total);
    return this.#estimate();
  }

  #estimate(): IndexBuildProgress {
    return { phase: this.#phase, ...estimateProgress(this.#samples) };
  }

  #sample(phase: string, done: number, total: number): void {
    this.#enter(phase);
    this.#samples = withSample(this.#samples, { atMs: performance.now(), done, total });
  }

  #enter(phase: string): void {
    if (phase === this.#phase) return;
    this.#phase = phase;
    this.#samples = [];
  }
}

/** What the phase counts. PostgreSQL keeps the counters of a phase in the next one, where they mean nothing. */
function counters(row: ProgressRow): [done: number, total: number] {
  if (/loading tuples/.test(row.phase!)) return [Number(row.tuples_done), Number(row.tuples_total)];
  if (/scanning|^building index$/.test(row.phase!)) return [Number(row.blocks_done), Number(row.blocks_total)];
  return [0, 0];
}
