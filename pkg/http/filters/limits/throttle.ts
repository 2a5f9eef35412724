/** Counts requests per minute, for all replicas together. */
export interface Throttle {
  /**
   * Counts a request; undefined if it may pass, else the seconds until a retry. `key`: `ip:192.0.2.1` for an unknown
   * user, or `user:<id>`; each kind has its limit.
   */
  take(key: string): Promise<number | undefined>;
}
