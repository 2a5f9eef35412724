import { newTimeout } from '../status/status-error.ts';
import { abortError, whenAborted } from './abort-error.ts';

export interface TimeLimit {
  timeoutMs: number;
  signal?: AbortSignal | undefined;
  /** The message of the StatusError 504 when the time is over. */
  message: () => string;
}

/**
 * Runs `work` with a signal that aborts when the time is over, or with `signal`; the work must end soon after. Does not
 * use `AbortSignal.any`: in Node 20 it leaks on a signal that outlives the work.
 * @throws what `work` throws; once the signal has aborted, its reason: a StatusError 504 with `message`, or the reason
 * of `signal`
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
 * Whether the work ends within the time, in milliseconds; after that its caller must handle it. @throws what the work
 * throws within the time
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
