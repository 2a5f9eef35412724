import { whenAborted } from '#pkg/apimachinery/index';

/** How many events may still be sent to a reader, which grants them. */
export class Credit {
  #left = 0;
  #wake: (() => void) | undefined;

  /** Grants above this total are ignored. */
  static readonly max = 10_000;

  grant(count: number): void {
    this.#left = Math.min(this.#left + count, Credit.max);
    if (this.#left > 0) this.#wake?.();
  }

  /**
   * Resolves with true when one more event may be sent, and with false when the signal fires first. Supports one
   * waiting caller.
   */
  async take(signal: AbortSignal): Promise<boolean> {
    while (this.#left === 0 && !signal.aborted) await this.#more(signal);
    if (signal.aborted) return false;
    this.#left -= 1;
    return true;
  }

  #more(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      let forget = (): void => undefined;
      const settle = (): void => {
        this.#wake = undefined;
        forget();
        resolve();
      };
      this.#wake = settle;
      forget = whenAborted(signal, settle);
    });
  }
}
