/** A clock that tests can replace. */
export interface Clock {
  /** Milliseconds, monotonic. */
  now(): number;
  /** Calls back once; returns a function that cancels. */
  after(ms: number, callback: () => void): () => void;
}

/** Node fires a longer timer immediately. */
const maxTimerMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, Math.min(ms, maxTimerMs));
    return () => clearTimeout(timer);
  },
};
