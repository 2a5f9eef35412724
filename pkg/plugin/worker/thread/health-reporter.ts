import { equalJson, type JsonValue } from '#pkg/apimachinery/index';
import { systemClock, type Clock } from '#pkg/runtime/index';
import type { PluginHealth } from '../control-message.ts';

/**
 * Minimum between two reports, and between two reports that differ only in texts: each is a write of the Plugin.
 * Milliseconds.
 */
const minIntervalMs = 5000;
const textsMs = 60_000;

export interface HealthReporterOptions {
  read: () => PluginHealth;
  report: (health: PluginHealth) => void;
  clock?: Clock;
}

/**
 * Reports changes of a plugin's health: the first change at once, later ones after a pause, and a change that was
 * reverted by then not at all.
 */
export class HealthReporter {
  readonly #options: Required<HealthReporterOptions>;
  #reported: PluginHealth = {};
  #at = -Infinity;
  #cancel: (() => void) | undefined;

  constructor({ clock = systemClock, ...options }: HealthReporterOptions) {
    this.#options = { clock, ...options };
  }

  /** Call it when the health may have changed. */
  note(): void {
    if (this.#cancel === undefined) this.#wait(this.#at + minIntervalMs);
  }

  /** Reports now. */
  flush(): void {
    this.stop();
    const health = this.#options.read();
    if (!equalJson(health as JsonValue, this.#reported as JsonValue)) this.#report(health);
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #wait(until: number): void {
    const { clock } = this.#options;
    this.#cancel = clock.after(Math.max(0, until - clock.now()), () => this.#look());
  }

  #look(): void {
    this.#cancel = undefined;
    const { read, clock } = this.#options;
    const health = read();
    if (equalJson(health as JsonValue, this.#reported as JsonValue)) return;
    const isOtherKind =
      (health.controllers === undefined) !== (this.#reported.controllers === undefined) ||
      (health.reconciles === undefined) !== (this.#reported.reconciles === undefined);
    const due = isOtherKind ? this.#at + minIntervalMs : this.#at + textsMs;
    // Checks again soon, because a change of more than texts may be reported earlier.
    if (due > clock.now()) this.#wait(Math.min(due, clock.now() + minIntervalMs));
    else this.#report(health);
  }

  #report(health: PluginHealth): void {
    this.#reported = health;
    this.#at = this.#options.clock.now();
    this.#options.report(health);
  }
}
