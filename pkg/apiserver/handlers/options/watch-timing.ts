/** Timing of watches. Milliseconds; `bufferLimit` in bytes. */
export interface WatchTiming {
  /** Interval of heartbeats on an idle stream, so that neither side considers it dead. Default 15 s. */
  heartbeatMs: number;
  /** Interval of bookmarks. Default 60 s. */
  bookmarkMs: number;
  /**
   * A watch without `timeoutSeconds` lasts a random time between these two, so that clients do not all reconnect at
   * once. Default 30 and 60 min.
   */
  minDurationMs: number;
  maxDurationMs: number;
  /** Unread bytes at which a client is disconnected. Default 4 MiB. */
  bufferLimit: number;
  /** A client that reads nothing for this long is disconnected. Default 60 s. */
  stallMs: number;
  /** Time for a client to read what was written before the watch ended. Default 5 s. */
  closeGraceMs: number;
  /** Maximum time between two checks that the client still has the right to watch. Default 3 s. */
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
