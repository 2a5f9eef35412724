import { systemClock, type Clock } from '#pkg/runtime/index';

/**
 * So many at once, which is more than who writes a plugin saves; after them one a minute, which is enough for a plugin
 * that changes itself.
 */
const burst = 10;
const everyMs = 60_000;

/** How often plugins are started anew for changed files. */
export class ReloadBudget {
  readonly #clock: Clock;
  /** When all of a plugin's will be there again. */
  readonly #full = new Map<string, number>();

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** Milliseconds until the next one; 0 for now. */
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
