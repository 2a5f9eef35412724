import { setMaxListeners } from 'node:events';
import { newTimeout, StatusError } from '../status/status-error.ts';

/** The error of aborted work: the signal's own StatusError, or a 504. */
export function abortError({ reason }: AbortSignal): StatusError {
  return reason instanceof StatusError ? reason : newRequestAborted();
}

export function newRequestAborted(): StatusError {
  return newTimeout('the request was given up before it was done');
}

/** Calls `listener` once when the signal aborts, or now if it has; the returned function removes the listener. */
export function whenAborted(signal: AbortSignal | undefined, listener: () => void): () => void {
  if (signal?.aborted === true) listener();
  if (signal === undefined || signal.aborted) return () => undefined;
  // Many calls may share one signal: above ten listeners Node would warn of a leak.
  setMaxListeners(0, signal);
  signal.addEventListener('abort', listener, { once: true });
  return () => signal.removeEventListener('abort', listener);
}

/** Resolves when the signal aborts, or now if it has. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => void whenAborted(signal, resolve));
}

/** The result of `work`, unless the signal aborts first: then `abortError`, and the result of `work` is ignored. */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  let forget = (): void => undefined;
  // Does not use `AbortSignal.any`: in Node 20 it leaks on a long-lived signal.
  const given = new Promise<never>((_resolve, reject) => {
    forget = whenAborted(signal, () => reject(abortError(signal)));
  });
  try {
    return await Promise.race([work, given]);
  } catch (error) {
    throw signal.aborted ? abortError(signal) : error;
  } finally {
    forget();
  }
}
