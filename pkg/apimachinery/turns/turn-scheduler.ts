/** How long sliced work of all kinds together may go on in one turn of the event loop, in milliseconds. */
const standardBudgetMs = 10;
/** How long one work may go on while others wait, in milliseconds: who has little to do is soon done. */
const quantumMs = 1;

/** Where the scheduler's time comes from. */
export interface TurnHost {
  /** In milliseconds. */
  now(): number;
  /** Runs `callback` in another turn of the event loop, after what has come meanwhile. */
  later(callback: () => void): void;
}

const eventLoop: TurnHost = {
  now: () => performance.now(),
  later: (callback) => {
    setImmediate(callback);
  },
};

/**
 * Shares each turn of the event loop among all works that come in slices: one budget for all, whoever waits in the order of arrival.
 * A turn goes past its budget by one slice at most. A work alone has the budget for itself.
 */
export class TurnScheduler {
  private readonly host: TurnHost;
  private readonly budgetMs: number;
  private readonly waiting = new Set<() => void>();
  /** Undefined between turns: a turn begins with its first work. */
  private began: number | undefined;
  /** Since when the present work goes on. */
  private since = 0;

  constructor({ host = eventLoop, budgetMs = standardBudgetMs }: { host?: TurnHost; budgetMs?: number } = {}) {
    this.host = host;
    this.budgetMs = budgetMs;
  }

  /** Should the work that asks let others go on? */
  get due(): boolean {
    const now = this.begin();
    return this.isSpent(now) || (this.waiting.size > 0 && now - this.since >= quantumMs);
  }

  /** From here on a work goes on that did not wait. */
  enter(): void {
    this.since = this.begin();
  }

  /** Resolves when it is the caller's turn. */
  wait(): Promise<void> {
    this.begin();
    return new Promise((resolve) => {
      this.waiting.add(resolve);
    });
  }

  private begin(): number {
    const now = this.host.now();
    if (this.began === undefined) {
      this.began = now;
      this.since = now;
      this.host.later(() => this.nextTurn());
    }
    return now;
  }

  private isSpent(now: number): boolean {
    return now - (this.began ?? now) >= this.budgetMs;
  }

  private nextTurn(): void {
    this.began = undefined;
    if (this.waiting.size > 0) this.resume(this.begin());
  }

  /** One by one, each going on until it waits for something: only then is it known what is left of the turn. */
  private resume(now: number): void {
    const [first] = this.waiting;
    if (first === undefined) return;
    this.waiting.delete(first);
    this.since = now;
    first();
    // A tick that is asked for in a microtask comes when no microtask is left.
    queueMicrotask(() => process.nextTick(() => this.resumeNext()));
  }

  private resumeNext(): void {
    const now = this.host.now();
    if (!this.isSpent(now)) this.resume(now);
  }
}
