/** Counts requests by minute, for all replicas together. */
export interface Throttle {
  /** Counts one more; undefined where it may pass, else in how many seconds it may be tried again. `key`: `ip:192.0.2.1`, `user:<id>`. */
  take(key: string, kind: 'anonymous' | 'user'): Promise<number | undefined>;
}
