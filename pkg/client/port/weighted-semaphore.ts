import { whenAborted } from '#pkg/apimachinery/index';

/** A limited amount, such as memory. Callers that want more than is left wait in order. */
export class WeightedSemaphore {
  readonly #total: number;
  readonly #waiting = new Set<{ amount: number; begin: () => void }>();
  #left: number;

  constructor(total: number) {
    this.#total = total;
    this.#left = total;
  }

  /**
   * Resolves with true when the caller has the amount and must give it back; with false when the signal fires first. An
   * amount above the total would wait for ever.
   */
  take(amount: number, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return Promise.resolve(false);
    if (this.#waiting.size === 0 && amount <= this.#left) {
      this.#left -= amount;
      return Promise.resolve(true);
    }
    return new Promise((resolve) => {
      const forget = whenAborted(signal, () => {
        this.#waiting.delete(one);
        resolve(false);
        this.#admit();
      });
      const one = {
        amount,
        begin: () => {
          forget();
          resolve(true);
        },
      };
      this.#waiting.add(one);
    });
  }

  /** Takes the amount even if it is not available. */
  overdraw(amount: number): void {
    this.#left -= amount;
  }

  give(amount: number): void {
    this.#left = Math.min(this.#left + amount, this.#total);
    this.#admit();
  }

  #admit(): void {
    for (const one of this.#waiting) {
      if (one.amount > this.#left) return;
      this.#left -= one.amount;
      this.#waiting.delete(one);
      one.begin();
    }
  }
}
