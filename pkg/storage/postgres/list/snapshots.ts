import type { Pool, PoolClient } from 'pg';
import { pause } from '#pkg/apimachinery/index';
import { StorageError } from '../../storage-error.ts';

/** A snapshot held longer than this would keep PostgreSQL from vacuuming. Milliseconds. */
export const snapshotTimeoutMs = 60_000;
/** Connections that one owner can never take, so that other owners get one. */
const reserve = 2;

/** A read-only transaction on one snapshot of the database. The caller must call `end`. */
export interface Snapshot {
  client: PoolClient;
  /** Idempotent, never rejects. A connection that cannot be rolled back is not used again. */
  end(): Promise<void>;
}

/**
 * Transactions that stay open while a client reads a long list. They have a pool of their own, so that nothing else
 * waits for their connections, and one owner never gets all of them.
 */
export class Snapshots {
  readonly #pool: Pool;
  readonly #timeoutMs: number;
  readonly #share: number;
  readonly #held = new Map<string, number>();
  readonly #waiting = new Set<() => void>();

  /** `timeoutMs`: how long `begin` waits for a free connection. */
  constructor(pool: Pool, timeoutMs = 5000) {
    this.#pool = pool;
    this.#timeoutMs = timeoutMs;
    this.#share = Math.max(1, pool.options.max - reserve);
  }

  /**
   * Begins a snapshot; waits for a free connection. A client that reads nothing holds its snapshot until it expires.
   * @throws StorageError Overloaded after `timeoutMs`
   */
  async begin(owner: string | undefined): Promise<Snapshot> {
    const late = new AbortController();
    const deadline = pause(this.#timeoutMs, late.signal).then(() => Promise.reject(overloaded()));
    deadline.catch(() => undefined);
    try {
      const leave = await this.#enter(owner, deadline);
      try {
        return await this.#connect(deadline, leave);
      } catch (error) {
        leave();
        throw error;
      }
    } finally {
      late.abort();
    }
  }

  async #connect(deadline: Promise<never>, leave: () => void): Promise<Snapshot> {
    const connecting = this.#pool.connect();
    let client: PoolClient;
    try {
      client = await Promise.race([connecting, deadline]);
    } catch (error) {
      connecting.then(
        (late) => late.release(),
        () => undefined,
      );
      throw error;
    }
    try {
      await client.query(
        `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL idle_in_transaction_session_timeout = ${snapshotTimeoutMs}`,
      );
    } catch (error) {
      client.release(error instanceof Error ? error : true);
      throw error;
    }
    let ending: Promise<void> | undefined;
    return { client, end: () => (ending ??= rollBack(client).finally(leave)) };
  }

  /** Returns an idempotent function that frees the owner's share. */
  async #enter(owner: string | undefined, deadline: Promise<never>): Promise<() => void> {
    if (owner === undefined) return () => {};
    while ((this.#held.get(owner) ?? 0) >= this.#share) await this.#nextLeave(deadline);
    this.#held.set(owner, (this.#held.get(owner) ?? 0) + 1);
    let isIn = true;
    return () => {
      if (!isIn) return;
      isIn = false;
      const left = this.#held.get(owner)! - 1;
      if (left === 0) this.#held.delete(owner);
      else this.#held.set(owner, left);
      for (const wake of this.#waiting) wake();
    };
  }

  async #nextLeave(deadline: Promise<never>): Promise<void> {
    let wake = (): void => {};
    const left = new Promise<void>((resolve) => (wake = resolve));
    this.#waiting.add(wake);
    try {
      await Promise.race([left, deadline]);
    } finally {
      this.#waiting.delete(wake);
    }
  }
}

async function rollBack(client: PoolClient): Promise<void> {
  try {
    await client.query('ROLLBACK');
    client.release();
  } catch (error) {
    client.release(error instanceof Error ? error : true);
  }
}

function overloaded(): StorageError {
  return new StorageError('Overloaded', 'too many long lists are being read: try again later');
}
