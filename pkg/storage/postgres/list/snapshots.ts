import { setTimeout as delay } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import { StorageError } from '../../storage-error.ts';

/** A snapshot held longer would keep PostgreSQL from cleaning up. Milliseconds. */
export const snapshotTime = 60_000;
/** Left to others, whatever one of them asks for. */
const reserve = 2;

/** A transaction that sees one moment; to be ended. */
export interface Snapshot {
  client: PoolClient;
  /** Idempotent, never rejects. A connection that cannot be rolled back is not used again. */
  end(): Promise<void>;
}

/**
 * Transactions that are held at the pace of whoever reads a long list. Their connections are apart, so that nothing
 * else waits for them, and one owner never has them all.
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
   * A client that reads nothing holds its snapshot until that expires: others wait a while, and are told to come back.
   * StorageError Overloaded.
   */
  async begin(owner: string | undefined): Promise<Snapshot> {
    const late = new AbortController();
    const deadline = delay(this.#timeoutMs, undefined, { signal: late.signal }).then(() =>
      Promise.reject(overloaded()),
    );
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
        `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL idle_in_transaction_session_timeout = ${snapshotTime}`,
      );
    } catch (error) {
      client.release(error instanceof Error ? error : true);
      throw error;
    }
    let ending: Promise<void> | undefined;
    return { client, end: () => (ending ??= rollBack(client).finally(leave)) };
  }

  /** Answers how to leave, once. */
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
