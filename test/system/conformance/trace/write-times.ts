import { setTimeout as pause } from 'node:timers/promises';
import type { JsonObject } from '../../../../pkg/apimachinery/index.ts';

/**
 * Waits until the clock shows another second. Managed fields have times in whole seconds, so the times of two writes can
 * be compared only if they were made in different ones.
 */
export async function pauseUntilNextSecond(): Promise<void> {
  const next = (Math.floor(Date.now() / 1000) + 1) * 1000;
  while (Date.now() < next) await pause(next - Date.now());
}

/** Which step wrote a time of managed fields, where each step is in a second of its own. */
export class WriteTimes {
  readonly #steps = new Map<string, number>();
  readonly #times = new Map<number, string>();

  /** Call with the entries after each step, in the order of steps. */
  note(step: number, entries: readonly JsonObject[]): void {
    for (const { time } of entries) {
      if (typeof time !== 'string' || this.#steps.has(time)) continue;
      this.#steps.set(time, step);
      this.#times.set(step, time);
    }
  }

  /** The entries with the number of a step as their time. */
  numbered(entries: readonly JsonObject[]): JsonObject[] {
    return entries.map((entry) =>
      typeof entry['time'] === 'string' ? { ...entry, time: this.#steps.get(entry['time']) ?? entry['time'] } : entry,
    );
  }

  /** Our entries for those of the peer: the times are those that the same steps wrote here. */
  translated(entries: readonly JsonObject[], peer: WriteTimes): JsonObject[] {
    return entries.map((entry) => {
      const time =
        typeof entry['time'] === 'string' ? this.#times.get(peer.#steps.get(entry['time']) ?? -1) : undefined;
      return time === undefined ? entry : { ...entry, time };
    });
  }
}
