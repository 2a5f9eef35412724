/** Time, so that a test can hold it still. */
export interface Clock {
  /** Milliseconds, never backwards. */
  now(): number;
  /** Calls back once; the answer calls it off. */
  after(ms: number, callback: () => void): () => void;
}

/** Longer than this a timer of Node fires at once. */
const longestTimer = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, Math.min(ms, longestTimer));
    return () => clearTimeout(timer);
  },
};
