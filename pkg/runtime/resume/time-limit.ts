import { whenAborted } from '#pkg/apimachinery/index';

/** Lets `work` have a signal that fires with the given one, or after so long. By hand: in Node 20 `AbortSignal.any` leaks on a signal that outlives the work. */
export async function withTimeLimit<T>(ms: number, signal: AbortSignal, work: (limited: AbortSignal) => Promise<T>): Promise<T> {
  const limit = new AbortController();
  const abort = (): void => limit.abort();
  const timer = setTimeout(abort, ms);
  const forget = whenAborted(signal, abort);
  try {
    return await work(limit.signal);
  } finally {
    clearTimeout(timer);
    forget();
  }
}
