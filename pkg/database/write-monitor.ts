import { setTimeout as delay } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import { databaseFailure, failureSentence, isConnectionUsable, type DatabaseFailure } from './database-failure.ts';
import type { Database } from './database.ts';
import type { DatabaseLog } from './log.ts';
import { settledWithin } from './settled-within.ts';

/** Failures at which PostgreSQL refuses writes, or does not answer them, but still answers reads. */
export const writeRefusals = [
  'disk_full',
  'disk_failing',
  'read_only',
  'no_transaction_ids',
  'standby_missing',
] as const satisfies readonly DatabaseFailure[];
export type WriteRefusal = (typeof writeRefusals)[number];

export interface WriteMonitorOptions {
  database: Pick<Database, 'pool'>;
  log: DatabaseLog;
  /** Interval of trials while writes succeed. Default 10 000. */
  intervalMs?: number;
  /** Interval of trials while they are refused. Default 2000. */
  retryMs?: number;
  /** Time of a trial after which its wait is examined. Default 5000. */
  answerTimeoutMs?: number;
}

const firstCheckDelayMs = 1000;
const cancelTimeoutMs = 5000;
/**
 * A trial lacks room earlier than writes do. After a refusal it needs room for a whole WAL segment, without which
 * PostgreSQL would stop.
 */
const requiredMib = 1;
const requiredAfterRefusalMib = 16;

/**
 * Checks whether PostgreSQL accepts writes, every ten seconds and at once when a statement was refused: it writes a
 * temporary file where tables are, and commits a transaction. Neither leaves data behind. Changes of the result are
 * logged.
 */
export class WriteMonitor {
  readonly #options: Required<WriteMonitorOptions>;
  readonly #ending = new AbortController();
  #refusal: WriteRefusal | undefined;
  #isSuspected = false;
  #woken = new AbortController();
  #watching: Promise<void> | undefined;

  constructor({ intervalMs = 10_000, retryMs = 2000, answerTimeoutMs = 5000, ...rest }: WriteMonitorOptions) {
    this.#options = { intervalMs, retryMs, answerTimeoutMs, ...rest };
  }

  /** Why writes are refused, by the last trial; undefined if they succeed or nothing is known yet. */
  get refusal(): WriteRefusal | undefined {
    return this.#refusal;
  }

  start(): void {
    this.#watching ??= this.#watch();
  }

  /** Call when a statement failed: if this may be a refusal of all writes, the next trial runs now. */
  suspect(failure: DatabaseFailure): void {
    if (this.#refusal !== undefined || !isWriteRefusal(failure)) return;
    this.#isSuspected = true;
    this.#woken.abort();
  }

  /** Stop it before the database. Idempotent. */
  async stop(): Promise<void> {
    this.#ending.abort();
    this.#woken.abort();
    await this.#watching;
  }

  async #watch(): Promise<void> {
    const { intervalMs, retryMs } = this.#options;
    const { signal } = this.#ending;
    await delay(firstCheckDelayMs, undefined, { signal }).catch(() => {});
    while (!signal.aborted) {
      const isSuspected = this.#isSuspected || this.#refusal !== undefined;
      this.#isSuspected = false;
      this.#woken = new AbortController();
      await this.#check(isSuspected ? requiredAfterRefusalMib : requiredMib);
      await delay(Math.min(firstCheckDelayMs, intervalMs), undefined, { signal }).catch(() => {});
      await delay(this.#refusal === undefined ? intervalMs : retryMs, undefined, { signal: this.#woken.signal }).catch(
        () => {},
      );
    }
  }

  /** If PostgreSQL does not answer at all, the last result stays. */
  async #check(roomMib: number): Promise<void> {
    let refusal: WriteRefusal | undefined;
    try {
      refusal = await this.#tryToWrite(roomMib);
    } catch (error) {
      const failure = databaseFailure(error);
      if (failure === undefined || !isWriteRefusal(failure)) return;
      refusal = failure;
    }
    if (refusal === this.#refusal || this.#ending.signal.aborted) return;
    this.#refusal = refusal;
    const { log } = this.#options;
    if (refusal === undefined) log.info({}, 'PostgreSQL takes writes again');
    else log.error({ failure: refusal }, `PostgreSQL takes no writes: ${failureSentence(refusal)}`);
  }

  async #tryToWrite(roomMib: number): Promise<WriteRefusal | undefined> {
    const { pool } = this.#options.database;
    const client = await this.#connect(pool);
    if (client === undefined) return this.#refusal;
    let isKept = false;
    try {
      const { rows } = await client.query<{ pid: number; isReadOnly: boolean }>(
        'SELECT pg_backend_pid() AS pid, current_setting(\'transaction_read_only\')::boolean AS "isReadOnly"',
      );
      const { pid, isReadOnly } = rows[0]!;
      const { refusal, isOver } = isReadOnly
        ? { refusal: 'read_only' as const, isOver: true }
        : await this.#runTrial(client, pid, roomMib);
      isKept = isOver;
      return refusal;
    } catch (error) {
      isKept = isConnectionUsable(error);
      throw error;
    } finally {
      client.release(!isKept);
    }
  }

  /**
   * `temp_file_limit` may be below the trial's file, which says nothing about the disk: then only the commit is tried.
   */
  async #runTrial(client: PoolClient, pid: number, roomMib: number): Promise<Trial> {
    try {
      return await this.#run(client, pid, `${spill(roomMib)}; ${commit}`);
    } catch (error) {
      if (databaseFailure(error) !== 'resource_limit') throw error;
      return this.#run(client, pid, commit);
    }
  }

  /** Runs `text` as one implicit transaction. */
  async #run(client: PoolClient, pid: number, text: string): Promise<Trial> {
    const { pool } = this.#options.database;
    const trial = client.query(text);
    const settled = settledWithin(trial, this.#options.answerTimeoutMs);
    if ((await unlessAborted(settled, this.#ending.signal)) === true) {
      await trial;
      return { refusal: undefined, isOver: true };
    }
    try {
      const isWaiting = await waitsForStandby(pool, pid);
      // A commit that is cancelled while it waits for a standby stays committed, locally: just the marker of this
      // trial.
      await pool.query('SELECT pg_cancel_backend($1)', [pid]);
      return {
        refusal: isWaiting ? 'standby_missing' : this.#refusal,
        isOver: await settledWithin(trial, cancelTimeoutMs),
      };
    } catch {
      return { refusal: this.#refusal, isOver: false };
    }
  }

  /** Undefined if the monitor stops first. */
  async #connect(pool: Pool): Promise<PoolClient | undefined> {
    const connecting = pool.connect();
    const client = await unlessAborted(connecting, this.#ending.signal);
    if (client === undefined)
      connecting.then(
        (late) => late.release(),
        () => undefined,
      );
    return client;
  }
}

export function isWriteRefusal(failure: DatabaseFailure): failure is WriteRefusal {
  return (writeRefusals as readonly DatabaseFailure[]).includes(failure);
}

interface Trial {
  refusal: WriteRefusal | undefined;
  /** False if it still runs: its connection cannot be used for anything else. */
  isOver: boolean;
}

/** Just a marker in the write-ahead log, which a synchronous standby has to confirm. */
const commit = "SELECT pg_logical_emit_message(true, 'svc', '')";

/** A sort that spills to disk. */
function spill(roomMib: number): string {
  return `SELECT set_config('work_mem', '64kB', true), set_config('temp_tablespaces', current_setting('default_tablespace'), true);
    SELECT max(length(filler)) FROM (SELECT repeat('x', 1024) AS filler FROM generate_series(1, ${roomMib * 1024}) AS number ORDER BY -number) AS spilled`;
}

async function waitsForStandby(pool: Pool, pid: number): Promise<boolean> {
  const { rows } = await pool.query<{ wait_event: string | null }>(
    'SELECT wait_event FROM pg_stat_activity WHERE pid = $1',
    [pid],
  );
  return rows[0]?.wait_event === 'SyncRep';
}

/** Undefined if the signal aborts first; leaves no listener behind. */
async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  let abort = (): void => {};
  const over = new Promise<undefined>((resolve) => {
    abort = () => resolve(undefined);
  });
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await Promise.race([promise, over]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
