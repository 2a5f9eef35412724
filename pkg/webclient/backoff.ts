import { pause } from './pause.ts';

/** Milliseconds: doubled from the first to the last. */
const firstWaitMs = 200;
const longestWaitMs = 15_000;

/** The waits between tries. */
export class Backoff {
  #nextMs = firstWaitMs;

  /** A try has succeeded. */
  reset(): void {
    this.#nextMs = firstWaitMs;
  }

  /** Resolves after the time, or as soon as the signal aborts. Never all at once: others were sent away, too. */
  async wait(signal: AbortSignal): Promise<void> {
    const ms = this.#nextMs;
    this.#nextMs = Math.min(longestWaitMs, ms * 2);
    await pause(ms * (0.5 + Math.random() / 2), signal).catch(() => undefined);
  }
}
