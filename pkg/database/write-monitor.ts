import { setTimeout as delay } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import { databaseFailure, failureSentence, keepsConnection, type DatabaseFailure } from './database-failure.ts';
import type { Database } from './database.ts';
import type { DatabaseLog } from './log.ts';
import { settledWithin } from './settled-within.ts';

/** What makes PostgreSQL refuse writes, or leave them without an answer, while it goes on answering reads. */
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
  /** Between two trials while writes are taken. Default 10 000. */
  intervalMs?: number;
  /** Between two trials while they are refused. Default 2000. */
  retryMs?: number;
  /** How long a trial may take before it is looked at what it waits for. Default 5000. */
  answerMs?: number;
}

const FIRST_LOOK_MS = 1000;
const CANCEL_MS = 5000;
/**
 * A trial finds no room before writes do; after a refusal it needs a whole segment of WAL, without which PostgreSQL
 * would end.
 */
const ROOM_MIB = 1;
const ROOM_AFTER_REFUSAL_MIB = 16;

/**
 * Does PostgreSQL take writes? Tried every ten seconds, and at once when a statement was refused: a temporary file is
 * written where tables are, and a transaction is committed. Neither leaves anything behind. What is found is logged
 * when it changes.
 */
export class WriteMonitor {
  readonly #options: Required<WriteMonitorOptions>;
  readonly #ending = new AbortController();
  #refusal: WriteRefusal | undefined;
  #isSuspected = false;
  #woken = new AbortController();
  #watching: Promise<void> | undefined;

  constructor({ intervalMs = 10_000, retryMs = 2000, answerMs = 5000, ...rest }: WriteMonitorOptions) {
    this.#options = { intervalMs, retryMs, answerMs, ...rest };
  }

  /** Why writes are refused, as of the last trial; undefined where they are taken, or nothing is known yet. */
  get refusal(): WriteRefusal | undefined {
    return this.#refusal;
  }

  start(): void {
    this.#watching ??= this.#watch();
  }

  /** Somebody's statement failed: the next trial is made now where that may be a refusal of all writes. */
  suspect(failure: DatabaseFailure): void {
    if (this.#refusal !== undefined || !isWriteRefusal(failure)) return;
    this.#isSuspected = true;
    this.#woken.abort();
  }

  /** To be stopped before the database. Idempotent. */
  async stop(): Promise<void> {
    this.#ending.abort();
    this.#woken.abort();
    await this.#watching;
  }

  async #watch(): Promise<void> {
    const { intervalMs, retryMs } = this.#options;
    const { signal } = this.#ending;
    await delay(FIRST_LOOK_MS, undefined, { signal }).catch(() => {});
    while (!signal.aborted) {
      const isSuspected = this.#isSuspected || this.#refusal !== undefined;
      this.#isSuspected = false;
      this.#woken = new AbortController();
      await this.#look(isSuspected ? ROOM_AFTER_REFUSAL_MIB : ROOM_MIB);
      await delay(Math.min(FIRST_LOOK_MS, intervalMs), undefined, { signal }).catch(() => {});
      await delay(this.#refusal === undefined ? intervalMs : retryMs, undefined, { signal: this.#woken.signal }).catch(
        () => {},
      );
    }
  }

  /** What cannot be found out, as PostgreSQL does not answer at all, stays as it was. */
  async #look(roomMib: number): Promise<void> {
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
        : await this.#judge(client, pid, roomMib);
      isKept = isOver;
      return refusal;
    } catch (error) {
      isKept = keepsConnection(error);
      throw error;
    } finally {
      client.release(!isKept);
    }
  }

  /** `temp_file_limit` may be below the trial's file, which says nothing of the disk: the commit is tried alone. */
  async #judge(client: PoolClient, pid: number, roomMib: number): Promise<Trial> {
    try {
      return await this.#run(client, pid, `${spill(roomMib)}; ${commit}`);
    } catch (error) {
      if (databaseFailure(error) !== 'resource_limit') throw error;
      return this.#run(client, pid, commit);
    }
  }

  /** One implicit transaction. */
  async #run(client: PoolClient, pid: number, text: string): Promise<Trial> {
    const { pool } = this.#options.database;
    const trial = client.query(text);
    const settled = settledWithin(trial, this.#options.answerMs);
    if ((await unlessAborted(settled, this.#ending.signal)) === true) {
      await trial;
      return { refusal: undefined, isOver: true };
    }
    try {
      const isWaiting = await waitsForStandby(pool, pid);
      // A commit that is cancelled as it waits for a standby stays, here alone: nothing but the mark of this trial.
      await pool.query('SELECT pg_cancel_backend($1)', [pid]);
      return { refusal: isWaiting ? 'standby_missing' : this.#refusal, isOver: await settledWithin(trial, CANCEL_MS) };
    } catch {
      return { refusal: this.#refusal, isOver: false };
    }
  }

  /** Undefined where this ends first. */
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
  /** Where it goes on, nothing else can be asked on its connection. */
  isOver: boolean;
}

/** Nothing but a mark in the write-ahead log, which a synchronous standby has to confirm. */
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

/** Undefined where the signal comes first; leaves no listener behind. */
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
