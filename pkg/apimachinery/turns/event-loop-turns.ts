/** How long work may go on before others have their turn, in milliseconds. */
const standardBudgetMs = 10;

/**
 * Lets others run between the parts of a long computation. Counts from where it is made, which is best right after an `await`:
 * `if (turns.due) await turns.next()` costs small work next to nothing.
 */
export class EventLoopTurns {
  readonly #budgetMs: number;
  #since = performance.now();

  constructor(budgetMs = standardBudgetMs) {
    this.#budgetMs = budgetMs;
  }

  get due(): boolean {
    return performance.now() - this.#since >= this.#budgetMs;
  }

  /** Resolves in another turn of the event loop, after what has come meanwhile. */
  async next(): Promise<void> {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    this.#since = performance.now();
  }
}

/** A computation that can be left and gone on with at each `yield`. What it reads must not be changed by others meanwhile. */
export type SlicedWork<T> = Generator<undefined, T, void>;

/** All of it now, for work that is small or has to be done before anything else happens. */
export function runAtOnce<T>(work: SlicedWork<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/** In slices of about `budgetMs`, default 10, between which others have their turn. */
export async function runInTurns<T>(work: SlicedWork<T>, budgetMs?: number): Promise<T> {
  const turns = new EventLoopTurns(budgetMs);
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    if (turns.due) await turns.next();
  }
}
