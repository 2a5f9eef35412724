import { whenAborted } from '#pkg/apimachinery/index';
import type { Database } from '#pkg/database/index';
import { isLockTimeout } from './database-failure.ts';
import { SessionLock } from './session-lock.ts';
import { translateError } from './translate-error.ts';

const exclusiveLocks = 819;

/**
 * Runs `work` under a named lock shared by all replicas. Waits for the lock, and checks every second whether `signal`
 * has aborted. `held` aborts when the lock is lost or `signal` aborts: another replica may start the same work a moment
 * later.
 */
export async function runExclusively<T>(
  database: Database,
  name: string,
  work: (held: AbortSignal) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const lock = await SessionLock.open(database);
  const held = new AbortController();
  let forget = (): void => undefined;
  try {
    await waitInLine(lock, name, signal);
    // By hand: in Node 20 `AbortSignal.any` leaks on a signal that outlives the work.
    whenAborted(lock.lost, () => held.abort(lock.lost.reason));
    forget = whenAborted(signal, () => held.abort(signal?.reason));
    held.signal.throwIfAborted();
    return await work(held.signal);
  } finally {
    forget();
    await lock.release();
  }
}

async function waitInLine(lock: SessionLock, name: string, signal: AbortSignal | undefined): Promise<void> {
  for (;;) {
    signal?.throwIfAborted();
    try {
      await lock.query('SELECT pg_advisory_lock($1, hashtext($2))', [exclusiveLocks, name]);
      return;
    } catch (error) {
      if (!isLockTimeout(error)) throw translateError(error);
    }
  }
}
