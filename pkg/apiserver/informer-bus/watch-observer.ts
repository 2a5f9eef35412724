/** Called for every event of watches, so it must be fast and must not throw. */
export interface WatchObserver {
  began(): void;
  /** `slow`: its client did not keep up; `over`: in any other way. */
  ended(how: 'slow' | 'over'): void;
  /** An event was written to a connection. */
  sent(): void;
  /**
   * A change was delivered to all its watchers. `own`: written by this process, and the time since the database
   * acknowledged it; `log`: read from the log, and the time since its row was written, by the database's clock.
   * Milliseconds.
   */
  delivered(from: 'own' | 'log', ms: number): void;
}

export const noWatchObserver: WatchObserver = { began: () => {}, ended: () => {}, sent: () => {}, delivered: () => {} };
