import type { Logger } from 'pino';
import type { AuditLog } from '#pkg/audit/index';
import type { CompactionLimits, Store } from '#pkg/storage/index';

const auditEveryMs = 3_600_000;

export interface MaintenanceOptions {
  store: Pick<Store, 'compact'> & { audit: Pick<AuditLog, 'maintain'> };
  limits: CompactionLimits;
  /** Days that the audit log keeps its rows. Default: for ever. */
  auditRetentionDays?: number;
  log: Logger;
  /** Pause between two rounds. Milliseconds, default 30 000. */
  everyMs?: number;
  /** Called after every round. */
  observer?: (ms: number, failed: boolean) => void;
}

/**
 * Compacts the change history periodically, and every hour the audit log. A failed round is logged, and the next one
 * tries again.
 */
export class Maintenance {
  readonly #options: MaintenanceOptions;
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> = Promise.resolve();
  #isRunning = false;
  #auditedAt = -Infinity;
  readonly #stopping = new AbortController();

  constructor(options: MaintenanceOptions) {
    this.#options = options;
  }

  /** The first round comes after one interval. */
  start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#schedule();
  }

  /** Stops the running round at its next step and resolves then. No other round follows. */
  async stop(): Promise<void> {
    this.#isRunning = false;
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await this.#round;
  }

  #schedule(): void {
    this.#timer = setTimeout(() => {
      this.#round = this.#runRound();
    }, this.#options.everyMs ?? 30_000);
    this.#timer.unref();
  }

  async #maintainAudit(): Promise<void> {
    const { store, log, auditRetentionDays: retentionDays } = this.#options;
    if (performance.now() - this.#auditedAt < auditEveryMs || this.#stopping.signal.aborted) return;
    try {
      const { signal } = this.#stopping;
      if (await store.audit.maintain({ signal, ...(retentionDays === undefined ? {} : { retentionDays }) }))
        this.#auditedAt = performance.now();
      else log.info('maintenance of the audit log goes on in the next round');
    } catch (error) {
      log.warn({ err: error }, 'the audit log could not be maintained');
    }
  }

  async #runRound(): Promise<void> {
    const { store, limits, log, observer } = this.#options;
    const start = performance.now();
    let failed = false;
    try {
      await store.compact(limits, this.#stopping.signal);
    } catch (error) {
      failed = true;
      log.warn({ err: error }, 'history could not be compacted');
    }
    observer?.(performance.now() - start, failed);
    await this.#maintainAudit();
    if (this.#isRunning) this.#schedule();
  }
}
