/**
 * Starts that may be at work at once. One that takes long gives its place to the next: it waits for something, and
 * would keep those from starting that do not.
 */
export class StartPlaces {
  readonly #most: number;
  readonly #longMs: number;
  readonly #waiting = new Set<() => void>();
  #taken = 0;

  /** @param longMs after which a start counts as one that waits */
  constructor({ most = 8, longMs = 5000 }: { most?: number; longMs?: number } = {}) {
    this.#most = most;
    this.#longMs = longMs;
  }

  /** Resolves when there is a place, with what gives it back; also when `signal` fires. */
  async take(signal: AbortSignal): Promise<() => void> {
    while (this.#taken >= this.#most && !signal.aborted) await this.#next(signal);
    this.#taken += 1;
    let isTaken = true;
    const giveBack = (): void => {
      clearTimeout(timer);
      if (!isTaken) return;
      isTaken = false;
      this.#taken -= 1;
      const [first] = this.#waiting;
      first?.();
    };
    const timer = setTimeout(giveBack, this.#longMs);
    return giveBack;
  }

  #next(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#waiting.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.#waiting.add(wake);
      signal.addEventListener('abort', wake);
    });
  }
}
