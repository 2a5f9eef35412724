import { newTimeout } from '../status/status-error.ts';
import { abortError, whenAborted } from './abort-error.ts';

export interface TimeLimit {
  timeoutMs: number;
  signal?: AbortSignal | undefined;
  /** What is said when the time is over: a StatusError 504. */
  message: () => string;
}

/**
 * Runs `work` with a signal that fires when the time is over, or with `signal`; the work must end soon after it. By
 * hand: in Node 20 `AbortSignal.any` leaks on a signal that outlives the work.
 * @throws what `work` throws; once the signal has fired, its reason: a StatusError 504 that says `message`, or what
 * `signal` says
 */
export async function withinTime<T>(
  { timeoutMs, signal, message }: TimeLimit,
  work: (limit: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(newTimeout(message())), timeoutMs);
  const forget = whenAborted(signal, () => limit.abort(signal?.reason));
  try {
    return await work(limit.signal);
  } catch (error) {
    throw limit.signal.aborted ? abortError(limit.signal) : error;
  } finally {
    clearTimeout(timer);
    forget();
  }
}

/**
 * Whether the work ended within the time, in milliseconds; what goes on after that is left to whoever began it. @throws
 * what the work throws within the time
 */
export async function endsWithin(timeoutMs: number, work: Promise<unknown>): Promise<boolean> {
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
