import { abortError, newTooManyRequests } from '#pkg/apimachinery/index';

/** Waiters per key; further calls are rejected. */
const maxWaiting = 512;

/** Runs one piece of work at a time for each key, in the order of arrival. */
export class KeyedQueue {
  readonly #queues = new Map<string, { last: Promise<void>; length: number }>();

  isBusy(key: string): boolean {
    return this.#queues.has(key);
  }

  /**
   * StatusError 429 when too many calls wait; the signal's StatusError (or 504) when it aborts while this call waits.
   */
  async run<T>(key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const line = this.#queues.get(key) ?? { last: Promise.resolve(), length: 0 };
    if (line.length >= maxWaiting) throw newTooManyRequests('too many writes of this object are waiting');
    this.#queues.set(key, line);
    const before = line.length === 0 ? undefined : line.last;
    let leave: (() => void) | undefined;
    const left = new Promise<void>((resolve) => {
      leave = resolve;
    });
    // When a waiting call gives up, the next one must still wait for those before it.
    line.last = before === undefined ? left : before.then(() => left);
    line.length += 1;
    try {
      if (before !== undefined) await settledOrAborted(before, signal);
      else if (signal.aborted) throw abortError(signal);
      return await work();
    } finally {
      leave?.();
      line.length -= 1;
      if (line.length === 0) this.#queues.delete(key);
    }
  }
}

async function settledOrAborted(turn: Promise<void>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) throw abortError(signal);
  let onAbort: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(abortError(signal));
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    await Promise.race([turn, aborted]);
  } finally {
    if (onAbort !== undefined) signal.removeEventListener('abort', onAbort);
  }
}
