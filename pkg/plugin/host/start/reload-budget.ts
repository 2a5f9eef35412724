import { systemClock, type Clock } from '#pkg/runtime/index';

/**
 * The number of reloads at once, more than an author saves in a row; then one a minute, which slows down a plugin that
 * changes its own files.
 */
const burst = 10;
const everyMs = 60_000;

/** Limits how often plugins restart because of changed files. */
export class ReloadBudget {
  readonly #clock: Clock;
  /** When a plugin's budget will be full again. */
  readonly #full = new Map<string, number>();

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** Milliseconds until the next reload; 0 if it may reload now. */
  wait(plugin: string): number {
    return Math.max(0, (this.#full.get(plugin) ?? 0) - this.#clock.now() - (burst - 1) * everyMs);
  }

  count(plugin: string): void {
    this.#full.set(plugin, Math.max(this.#full.get(plugin) ?? 0, this.#clock.now()) + everyMs);
  }

  forget(plugin: string): void {
    this.#full.delete(plugin);
  }
}
