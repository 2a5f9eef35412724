/** How long sliced work of all kinds together may go on in one turn of the event loop, in milliseconds. */
const standardBudgetMs = 10;
/** How long one work may go on while others wait, in milliseconds: who has little to do is soon done. */
const quantumMs = 1;
/** Work that has held the event loop for so long is large. Milliseconds. */
const largeMs = 3;
/**
 * What one slice counts for at most, in milliseconds: a pause for the garbage collector, or for another process, says
 * nothing of the work.
 */
const maxSliceMs = largeMs / 2;
/** How long large work rests: so many times as long as it went on, and so many milliseconds at most. */
const restShare = 8;
const maxRestMs = 400;
/** It rests no more once the event loop has had nothing to do for so long. Milliseconds. */
const maxIdleMs = 2;

/**
 * What bytes take of the event loop as they arrive, be it from clients or from PostgreSQL: 4 ms a MiB, and more on a
 * busy machine. Milliseconds.
 */
const msPerArrivingByte = 4 / (1 << 20);

/** Where the scheduler's time comes from. */
export interface SchedulerHost {
  /** In milliseconds. */
  now(): number;
  /** How long the event loop has had nothing to do so far, in milliseconds. */
  idle(): number;
  /** Runs `callback` in another turn of the event loop, after what has come meanwhile. */
  later(callback: () => void): void;
  /** Runs `callback` a millisecond later. */
  soon(callback: () => void): void;
}

const eventLoop: SchedulerHost = {
  now: () => performance.now(),
  idle: () => performance.eventLoopUtilization().idle,
  later: (callback) => {
    setImmediate(callback);
  },
  soon: (callback) => {
    setTimeout(callback, 1);
  },
};

/** A work as its scheduler sees it. */
export interface Work {
  /** How long it has held the event loop, in milliseconds. */
  heldMs: number;
}

/** `large`: from its beginning. Default: once it has held the event loop for 3 ms. */
export function newWork(large = false): Work {
  return { heldMs: large ? largeMs : 0 };
}

function isLarge({ heldMs }: Work): boolean {
  return heldMs >= largeMs;
}

/**
 * Shares each turn of the event loop among all works that come in slices: one budget for all, small works before large
 * ones, of both whoever came first. A turn goes past its budget by one slice at most. A work alone has the budget for
 * itself.
 *
 * After a turn in which large work went on, large work rests: eight times as long as that turn took, or until the event
 * loop has had nothing to do for 2 ms. So whatever needs little, sliced or not, has most of the event loop however much
 * large work there is, with all that large work brings about besides its slices: bytes that arrive and leave, and
 * memory to collect. Where there is nothing else, large work loses next to nothing.
 */
export class TurnScheduler {
  private readonly host: SchedulerHost;
  private readonly budgetMs: number;
  private readonly small = new Set<() => void>();
  private readonly large = new Set<() => void>();
  /** Undefined between turns: a turn begins with its first work. */
  private began: number | undefined;
  /** The work that went on last in this turn, as far as it is known, and up to when its time is counted. */
  private present: Work | undefined;
  private countedTo = 0;
  /** Since when the present work goes on. */
  private since = 0;
  private hadLarge = false;
  /** Large work rests until then, or until the event loop has been idle for longer. */
  private rest: { until: number; idle: number } | undefined;
  /** A rest was waited for: one large work is next, so that small ones never keep it out. */
  private isLargeNext = false;
  private isWaking = false;

  constructor({ host = eventLoop, budgetMs = standardBudgetMs }: { host?: SchedulerHost; budgetMs?: number } = {}) {
    this.host = host;
    this.budgetMs = budgetMs;
  }

  /** Should the work that asks let others go on? */
  isDue(work: Work): boolean {
    const now = this.begin();
    if (this.present === work) work.heldMs += Math.min(now - this.countedTo, maxSliceMs);
    this.present = work;
    this.countedTo = now;
    if (isLarge(work)) {
      if (this.isResting(now)) return true;
      this.hadLarge = true;
    }
    return this.isSpent(now) || (this.small.size + this.large.size > 0 && now - this.since >= quantumMs);
  }

  /** From here on a work goes on that did not wait. */
  enter(work: Work): void {
    this.goOn(work, this.begin());
  }

  /**
   * Counts bytes that are let in now as time of this turn: they come in no slice, and many works that each only let
   * some in would go past any budget.
   */
  expect(bytes: number): void {
    this.begin();
    this.began! -= bytes * msPerArrivingByte;
  }

  /** Resolves when it is the work's turn. */
  async wait(work: Work): Promise<void> {
    const now = this.begin();
    await new Promise<void>((resolve) => {
      (isLarge(work) ? this.large : this.small).add(resolve);
      if (isLarge(work) && this.isResting(now)) this.wakeAfterRest();
    });
    this.goOn(work, this.host.now());
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

  private goOn(work: Work, now: number): void {
    this.present = work;
    this.countedTo = now;
    this.since = now;
  }

  private isSpent(now: number): boolean {
    return now - (this.began ?? now) >= this.budgetMs;
  }

  private nextTurn(): void {
    const now = this.host.now();
    if (this.hadLarge) this.beginRest(now, now - this.began!);
    this.began = undefined;
    this.present = undefined;
    if (this.nextQueue(now) !== undefined) this.resume(this.begin());
  }

  /** One by one, each going on until it waits for something: only then is it known what is left of the turn. */
  private resume(now: number): void {
    const queue = this.nextQueue(now);
    if (queue === undefined) return;
    const [first] = queue;
    queue.delete(first!);
    if (queue === this.large) {
      this.hadLarge = true;
      this.isLargeNext = false;
    }
    this.present = undefined;
    this.since = now;
    first!();
    // A tick that is asked for in a microtask comes when no microtask is left.
    queueMicrotask(() => process.nextTick(() => this.resumeNext()));
  }

  private resumeNext(): void {
    const now = this.host.now();
    if (!this.isSpent(now)) this.resume(now);
  }

  private nextQueue(now: number): Set<() => void> | undefined {
    const mayLarge = this.large.size > 0 && !this.isResting(now);
    if (this.small.size > 0 && !(mayLarge && this.isLargeNext)) return this.small;
    return mayLarge ? this.large : undefined;
  }

  private beginRest(now: number, turnMs: number): void {
    this.hadLarge = false;
    this.rest = { until: now + Math.min(restShare * turnMs, maxRestMs), idle: this.host.idle() + maxIdleMs };
    if (this.large.size > 0) this.wakeAfterRest();
  }

  private isResting(now: number): boolean {
    if (this.rest === undefined) return false;
    if (now < this.rest.until && this.host.idle() < this.rest.idle) return true;
    this.rest = undefined;
    this.isLargeNext = true;
    return false;
  }

  private wakeAfterRest(): void {
    if (this.isWaking) return;
    this.isWaking = true;
    this.host.soon(() => {
      this.isWaking = false;
      if (this.isResting(this.host.now())) this.wakeAfterRest();
      else if (this.large.size > 0) this.begin();
    });
  }
}
