import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseError, messageOf } from './database-error.ts';
import { databaseFailure, type DatabaseFailure } from './database-failure.ts';
import type { DatabaseLog } from './log.ts';

const minPauseMs = 100;
const maxPauseMs = 2_000;

export interface DatabaseWaitOptions {
  /** How long after the first failure another try may begin. Milliseconds. */
  readonly timeoutMs: number;
  readonly log: DatabaseLog;
  /** Logged once, at the first failure. */
  readonly message: string;
  /** Which errors another try may not have. Default: `isDatabaseBusy`. */
  readonly isTemporary?: (error: unknown) => boolean;
}

/** Repeats work that failed because PostgreSQL is away or busy. Rejects with its last error. */
export async function waitForDatabase<T>(
  work: () => Promise<T>,
  { timeoutMs, log, message, isTemporary = isDatabaseBusy }: DatabaseWaitOptions,
): Promise<T> {
  let deadline: number | undefined;
  for (let pauseMs = minPauseMs; ; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
    try {
      return await work();
    } catch (error) {
      const isFirst = deadline === undefined;
      deadline ??= performance.now() + timeoutMs;
      if (!isTemporary(error) || performance.now() + pauseMs > deadline) throw error;
      if (isFirst) log.warn({ why: messageOf(error), patienceMs: timeoutMs }, message);
    }
    await delay(pauseMs);
  }
}

const busy: ReadonlySet<DatabaseFailure> = new Set([
  'connection_lost',
  'no_answer',
  'shutting_down',
  'starting_up',
  'too_many_connections',
  'transaction_conflict',
  'lock_timeout',
  'statement_timeout',
]);

/**
 * Whether an error, or the one that it was made from, means that PostgreSQL is away or has too much to do. A migration
 * that got no lock does not count: it has waited for long.
 */
export function isDatabaseBusy(error: unknown): boolean {
  for (let each = error; each instanceof Error; each = each.cause) {
    const failure = databaseFailure(each);
    if (failure !== undefined)
      return busy.has(failure) && !(failure === 'lock_timeout' && error instanceof DatabaseError);
  }
  return false;
}
