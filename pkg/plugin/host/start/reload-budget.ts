import { systemClock, type Clock } from '#pkg/runtime/index';

export interface ReloadBudgetOptions {
  /** Reloads at once: more than an author saves in a row. Default 10. */
  burst?: number;
  /** Then one in this time, which slows down a plugin that changes its own files. Milliseconds, default 60 000. */
  everyMs?: number;
  clock?: Clock;
}

/** Limits how often changed files of a plugin have an effect. */
export class ReloadBudget {
  readonly #options: Required<ReloadBudgetOptions>;
  /** When a plugin's budget will be full again. */
  readonly #full = new Map<string, number>();

  constructor(options: ReloadBudgetOptions = {}) {
    this.#options = { burst: 10, everyMs: 60_000, clock: systemClock, ...options };
  }

  /** Milliseconds until the next reload; 0 if it may reload now. */
  wait(plugin: string): number {
    const { burst, everyMs, clock } = this.#options;
    return Math.max(0, (this.#full.get(plugin) ?? 0) - clock.now() - (burst - 1) * everyMs);
  }

  count(plugin: string): void {
    const { everyMs, clock } = this.#options;
    this.#full.set(plugin, Math.max(this.#full.get(plugin) ?? 0, clock.now()) + everyMs);
  }

  forget(plugin: string): void {
    this.#full.delete(plugin);
  }
}
