/** How watches are paced. Milliseconds, and bytes for `bufferLimit`. */
export interface WatchTiming {
  /** A sign of life on a silent stream, so that neither side takes it for dead. Default 15 s. */
  heartbeatMs: number;
  /** Default 60 s. */
  bookmarkMs: number;
  /**
   * A watch without `timeoutSeconds` lasts a random time between these, so that clients do not come back all at once.
   * Default 30 and 60 min.
   */
  minDurationMs: number;
  maxDurationMs: number;
  /** What a client may leave unread before it is disconnected. Default 4 MiB. */
  bufferLimit: number;
  /** A client that reads nothing for so long is disconnected. Default 60 s. */
  stallMs: number;
  /** For a client to read what was written before the end. Default 5 s. */
  closeGraceMs: number;
  /** Between two looks whether the client still has the right to watch, at most. Default 3 s. */
  recheckMs: number;
}

export const defaultWatchTiming: WatchTiming = {
  heartbeatMs: 15_000,
  bookmarkMs: 60_000,
  minDurationMs: 30 * 60_000,
  maxDurationMs: 60 * 60_000,
  bufferLimit: 4 * 1024 * 1024,
  stallMs: 60_000,
  closeGraceMs: 5_000,
  recheckMs: 3_000,
};
