/** Counts requests by minute, for all replicas together. */
export interface Throttle {
  /**
   * Counts one more; undefined where it may pass, else in how many seconds it may be tried again. `key`: `ip:192.0.2.1`
   * of who is not known, or `user:<id>`; each kind has its limit.
   */
  take(key: string): Promise<number | undefined>;
}
