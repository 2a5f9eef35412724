import { setTimeout as delay } from 'node:timers/promises';
import { abortError, newRequestAborted, whenAborted } from './abort-error.ts';

export interface TimeLimit {
  timeoutMs: number;
  signal?: AbortSignal | undefined;
  /** What is thrown when the time is over. Default: a StatusError 504. */
  timeoutError?: () => Error;
}

/**
 * Runs `work` with a signal that fires when the time is over, or with `signal`; the work must end soon after it. Work
 * that takes no signal goes into `untilAborted`. By hand: in Node 20 `AbortSignal.any` leaks on a signal that outlives
 * the work.
 * @throws what `work` throws; once the signal has fired, `timeoutError` or what `signal` says
 */
export async function withinTime<T>(
  { timeoutMs, signal, timeoutError = newRequestAborted }: TimeLimit,
  work: (limit: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController();
  let lateError: Error | undefined;
  const timer = setTimeout(() => {
    lateError = timeoutError();
    limit.abort(lateError);
  }, timeoutMs);
  const forget = whenAborted(signal, () => {
    clearTimeout(timer);
    limit.abort(signal?.reason);
  });
  try {
    return await work(limit.signal);
  } catch (error) {
    throw lateError ?? (limit.signal.aborted ? abortError(limit.signal) : error);
  } finally {
    clearTimeout(timer);
    forget();
  }
}

/**
 * Whether the work ends within the time, in milliseconds; after that its caller must handle it. @throws what the work
 * throws within the time
 */
export async function isDoneWithin(timeoutMs: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutMs);
  });
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

export interface PauseOptions {
  /** Does the pause keep the process running? Default: yes. */
  ref?: boolean;
}

/** Resolves after the time, or as soon as `signal` fires. Never rejects. */
export async function pause(ms: number, signal?: AbortSignal, { ref = true }: PauseOptions = {}): Promise<void> {
  await delay(ms, undefined, { ref, ...(signal === undefined ? {} : { signal }) }).catch(() => undefined);
}
