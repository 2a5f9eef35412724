import type { Logger } from 'pino';
import type { CompactionLimits, Store } from '#pkg/storage/index';

export interface MaintenanceOptions {
  store: Pick<Store, 'compact'>;
  limits: CompactionLimits;
  log: Logger;
  /** Between the end of one round and the next. Milliseconds, default 30 000. */
  everyMs?: number;
}

/** Keeps the history of changes within its limits, round by round; a round that fails is logged and the next one tries again. */
export class Maintenance {
  private readonly options: MaintenanceOptions;
  private timer: NodeJS.Timeout | undefined;
  private round: Promise<void> = Promise.resolve();
  private isRunning = false;

  constructor(options: MaintenanceOptions) {
    this.options = options;
  }

  /** The first round comes after one interval. */
  start(): void {
    if (this.isRunning) return;
    this.isRunning = true;
    this.schedule();
  }

  /** Resolves when the round under way is done; no other follows. */
  async stop(): Promise<void> {
    this.isRunning = false;
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
    const { store, limits, log } = this.options;
    try {
      await store.compact(limits);
    } catch (error) {
      log.warn({ err: error }, 'history could not be compacted');
    }
    if (this.isRunning) this.schedule();
  }
}
