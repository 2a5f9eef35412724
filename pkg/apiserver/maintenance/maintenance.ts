import type { Logger } from 'pino';
import type { CompactionLimits, Store } from '#pkg/storage/index';

export interface MaintenanceOptions {
  store: Pick<Store, 'compact'>;
  limits: CompactionLimits;
  log: Logger;
  /** Between the end of one round and the next. Milliseconds, default 30 000. */
  everyMs?: number;
  /** Hears of every round. */
  observer?: (ms: number, failed: boolean) => void;
}

/**
 * Keeps the history of changes within its limits, round by round; a round that fails is logged and the next one tries
 * again.
 */
export class Maintenance {
  private readonly options: MaintenanceOptions;
  private timer: NodeJS.Timeout | undefined;
  private round: Promise<void> = Promise.resolve();
  private isRunning = false;
  private readonly stopping = new AbortController();

  constructor(options: MaintenanceOptions) {
    this.options = options;
  }

  /** The first round comes after one interval. */
  start(): void {
    if (this.isRunning) return;
    this.isRunning = true;
    this.schedule();
  }

  /** Ends the round under way at its next step, and resolves when it is over; no other follows. */
  async stop(): Promise<void> {
    this.isRunning = false;
    this.stopping.abort();
    clearTimeout(this.timer);
    await this.round;
  }

  private schedule(): void {
    this.timer = setTimeout(() => {
      this.round = this.runRound();
    }, this.options.everyMs ?? 30_000);
    this.timer.unref();
  }

  private async runRound(): Promise<void> {
    const { store, limits, log, observer } = this.options;
    const start = performance.now();
    let failed = false;
    try {
      await store.compact(limits, this.stopping.signal);
    } catch (error) {
      failed = true;
      log.warn({ err: error }, 'history could not be compacted');
    }
    observer?.(performance.now() - start, failed);
    if (this.isRunning) this.schedule();
  }
}
