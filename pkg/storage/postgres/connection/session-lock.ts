import { setImmediate } from 'node:timers/promises';
import type { Client, QueryResult } from 'pg';
import { pause } from '#pkg/apimachinery/index';
import { endClient, settledWithin, type Database } from '#pkg/database/index';
import { StorageError } from '../../storage-error.ts';
import { translated, translateError } from './translate-error.ts';

/** Interval of connection probes, and timeout of their answer. Milliseconds. */
const probe = { interval: 5_000, answer: 5_000 };
/**
 * The server ends the session after this idle time, which is longer than this process needs to detect the loss.
 * Milliseconds.
 */
const forsakenAfterMs = 30_000;
const settings = `SET idle_session_timeout = ${forsakenAfterMs}; SET lock_timeout = 1000; SET statement_timeout = 0`;

/**
 * A dedicated session for locks that are held over many statements. The locks end with the process or the connection.
 * `lost` reports a lost connection at once, or within ten seconds if the network fails silently.
 */
export class SessionLock {
  readonly #client: Client;
  readonly #lost = new AbortController();
  readonly #over = new AbortController();
  #statements = 0;
  #probing: Promise<void> | undefined;

  private constructor(client: Client) {
    this.#client = client;
    client.once('end', () => this.#lose());
    client.once('error', () => this.#lose());
  }

  /** Connects; no lock is held yet. StorageError Unavailable. */
  static async open(database: Database): Promise<SessionLock> {
    const lock = new SessionLock(await translated(database.newClient('lock')));
    try {
      await lock.query(settings);
    } catch (error) {
      await lock.release();
      throw translateError(error);
    }
    lock.#probing = lock.#probe();
    return lock;
  }

  /** Aborts with StorageError Unavailable when another session may hold the locks. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Runs a short statement in this session. Throws the database's own errors. */
  async query<Row extends object>(text: string, values: unknown[] = []): Promise<QueryResult<Row>> {
    return this.#counted(() =>
      this.#client.query<Row>({ text, values, query_timeout: 2 * probe.answer } as { text: string; values: unknown[] }),
    );
  }

  /** Runs a statement that may take hours; the role's statement timeout does not apply. */
  async run(text: string): Promise<void> {
    await this.#counted(() => this.#client.query(text));
  }

  /** Ends the session, and with it the locks. Idempotent, never rejects. */
  async release(): Promise<void> {
    this.#over.abort();
    await this.#probing;
    await endClient(this.#client);
  }

  async #counted<T>(work: () => Promise<T>): Promise<T> {
    this.#statements += 1;
    try {
      return await work();
    } finally {
      this.#statements -= 1;
    }
  }

  #lose(): void {
    if (!this.#over.signal.aborted)
      this.#lost.abort(new StorageError('Unavailable', 'the lock was lost with its connection'));
    this.#over.abort();
  }

  /** Does not probe while a statement runs, because the statement's answer would arrive first. */
  async #probe(): Promise<void> {
    const { signal } = this.#over;
    for (;;) {
      await pause(probe.interval, signal, { ref: false });
      if (signal.aborted) return;
      if (this.#statements === 0 && !(await this.#answers()) && !signal.aborted) this.#lose();
    }
  }

  async #answers(): Promise<boolean> {
    const answer = this.query('SELECT').then(
      () => true,
      () => false,
    );
    // After the process was frozen, the timeout fires before the answer, which arrives in the next turn.
    if (!(await settledWithin(answer, probe.answer))) await setImmediate();
    return Promise.race([answer, Promise.resolve(false)]);
  }
}
