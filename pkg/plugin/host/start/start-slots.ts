import { whenAborted } from '#pkg/apimachinery/index';
/**
 * Limits how many plugins start at a time. A slow start frees its slot: it waits for something, and would delay the
 * other starts.
 */
export class StartSlots {
  readonly #limit: number;
  readonly #longMs: number;
  readonly #waiting = new Set<() => void>();
  #taken = 0;

  /** @param longMs after this time a start frees its slot */
  constructor({ limit = 8, longMs = 5000 }: { limit?: number; longMs?: number } = {}) {
    this.#limit = limit;
    this.#longMs = longMs;
  }

  /** Waits for a slot, and answers a function that frees it. Resolves also when `signal` fires. */
  async take(signal: AbortSignal): Promise<() => void> {
    while (this.#taken >= this.#limit && !signal.aborted) await this.#next(signal);
    this.#taken += 1;
    let isTaken = true;
    const release = (): void => {
      clearTimeout(timer);
      if (!isTaken) return;
      isTaken = false;
      this.#taken -= 1;
      const [first] = this.#waiting;
      first?.();
    };
    const timer = setTimeout(release, this.#longMs);
    return release;
  }

  #next(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#waiting.delete(wake);
        forget();
        resolve();
      };
      this.#waiting.add(wake);
      const forget = whenAborted(signal, wake);
    });
  }
}
