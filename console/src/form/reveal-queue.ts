import { createContext, startTransition, useContext, useEffect, useState } from 'react';

/** More fields than a tall window shows. */
const atOnce = 40;
const perTurn = 60;

/**
 * The first fields of a long form are rendered at once, and the others right after that, some in each turn, in their
 * order: the form can be used in the meantime, and in the end all of it is there for the search of the browser.
 */
export class RevealQueue {
  #left = atOnce;
  readonly #waiting = new Set<() => void>();
  #isScheduled = false;

  /** May one more field be rendered at once? */
  take(): boolean {
    if (this.#left === 0) return false;
    this.#left -= 1;
    return true;
  }

  /** Calls back when it is the field's turn. The result takes it out of the queue. */
  readonly wait = (reveal: () => void): (() => void) => {
    this.#waiting.add(reveal);
    this.#schedule();
    return () => void this.#waiting.delete(reveal);
  };

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setTimeout(() => {
      this.#isScheduled = false;
      const turn = [...this.#waiting].slice(0, perTurn);
      for (const reveal of turn) this.#waiting.delete(reveal);
      // Typing goes first.
      startTransition(() => {
        for (const reveal of turn) reveal();
      });
      if (this.#waiting.size > 0) this.#schedule();
      // What is opened from now on is near the view again.
      else this.#left = atOnce;
    });
  }
}

export const RevealQueueContext = createContext(new RevealQueue());

/** Is it the turn of the field that asks? Once it was, it stays. */
export function useReveal(): boolean {
  const queue = useContext(RevealQueueContext);
  const [isRevealed, setRevealed] = useState(() => queue.take());
  useEffect(() => (isRevealed ? undefined : queue.wait(() => setRevealed(true))), [queue, isRevealed]);
  return isRevealed;
}
