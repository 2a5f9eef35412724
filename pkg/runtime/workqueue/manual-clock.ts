import type { Clock } from './clock.ts';

/** A clock that only moves when a test advances it. */
export class ManualClock implements Clock {
  #now = 0;
  #alarms: { at: number; callback: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  after(ms: number, callback: () => void): () => void {
    const alarm = { at: this.#now + ms, callback };
    this.#alarms.push(alarm);
    return () => {
      this.#alarms = this.#alarms.filter((each) => each !== alarm);
    };
  }

  /** Moves on, and runs the due callbacks, each at its time. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const next = this.#alarms.filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.#alarms = this.#alarms.filter((each) => each !== next);
      this.#now = Math.max(this.#now, next.at);
      next.callback();
    }
    this.#now = end;
  }

  /** The number of waiting callbacks. */
  get pending(): number {
    return this.#alarms.length;
  }
}
