import { setImmediate } from 'node:timers/promises';
import type { Client, QueryResult } from 'pg';
import { pause } from '#pkg/apimachinery/index';
import { endClient, settledWithin, type Database } from '#pkg/database/index';
import { StorageError } from '../../storage-error.ts';
import { translated, translateError } from './translate-error.ts';

/** Between two looks whether the connection still lives, and how long its answer may take. Milliseconds. */
const probe = { interval: 5_000, answer: 5_000 };
/**
 * After so long without a word from us the server ends the session: later than we give the lock up ourselves.
 * Milliseconds.
 */
const forsaken = 30_000;
const settings = `SET idle_session_timeout = ${forsaken}; SET lock_timeout = 1000; SET statement_timeout = 0`;

/**
 * A session of its own, for locks that are held over many statements: they are gone with the process, and with a
 * connection that is lost, of which `lost` tells at once, or within ten seconds where it went silent.
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
    const lock = new SessionLock(await translated(database.newClient()));
    try {
      await lock.query(settings);
    } catch (error) {
      await lock.release();
      throw translateError(error);
    }
    lock.#probing = lock.#probe();
    return lock;
  }

  /** Aborted, with a StorageError Unavailable, when the locks may be another's. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** A short statement of this session. Errors are the database's own. */
  async query<Row extends object>(text: string, values: unknown[] = []): Promise<QueryResult<Row>> {
    return this.#counted(() =>
      this.#client.query<Row>({ text, values, query_timeout: 2 * probe.answer } as { text: string; values: unknown[] }),
    );
  }

  /** A statement that may take hours, whatever limit the user's role has. */
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

  /** Not while a statement is under way: its answer would come first. */
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
    // A process that was frozen hears of the time first, and of the answer in the next turn.
    if (!(await settledWithin(answer, probe.answer))) await setImmediate();
    return Promise.race([answer, Promise.resolve(false)]);
  }
}
