import { childController } from './child-controller.ts';
import { onWake } from './on-wake.ts';
import { pause } from './pause.ts';

/** Milliseconds: doubled from the first to the last. */
const firstWaitMs = 200;
const longestWaitMs = 15_000;

/** The waits between tries. */
export class RetryBackoff {
  #nextMs = firstWaitMs;

  /** A try has succeeded. */
  reset(): void {
    this.#nextMs = firstWaitMs;
  }

  /**
   * Resolves after the time, or as soon as the page wakes or the signal aborts. Never all at once: others were sent away,
   * too.
   */
  async wait(signal: AbortSignal): Promise<void> {
    const ms = this.#nextMs * (0.5 + Math.random() / 2);
    this.#nextMs = Math.min(longestWaitMs, this.#nextMs * 2);
    const end = childController(signal);
    onWake(() => end.abort(), end.signal);
    await pause(ms, end.signal).catch(() => undefined);
    end.abort();
  }
}
