import { performance } from 'node:perf_hooks';

/** How long all sliced work together may run in one iteration of the event loop. Milliseconds. */
const standardBudgetMs = 10;
/** How long one work may run while others wait, so that short work ends soon. Milliseconds. */
const quantumMs = 1;
/** Work that has held the event loop for this long is large. Milliseconds. */
const largeMs = 3;
/**
 * The most that one slice counts for: a pause of the garbage collector, or of the whole process, says nothing about the
 * work. Milliseconds.
 */
const maxSliceMs = largeMs / 2;
/** How long large work rests: this many times its running time, and at most `maxRestMs`. */
const restShare = 8;
const maxRestMs = 400;
/** The rest ends early once the event loop has been idle for this long. Milliseconds. */
const maxIdleMs = 2;

/**
 * Event loop time that arriving bytes take, from clients or from PostgreSQL: 4 ms a MiB, and more on a busy machine.
 * Milliseconds.
 */
const msPerArrivingByte = 4 / (1 << 20);

/** The clock of a scheduler, and how it yields to the event loop. */
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

/** The scheduler's state of one work. */
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
 * Shares the event loop among all work that runs in slices. Each iteration of the event loop has one budget for all of
 * it; small work runs before large work, and within each in order of arrival. An iteration exceeds its budget by at
 * most one slice. A single work has the whole budget.
 *
 * After an iteration with large work, large work rests: eight times as long as that iteration took, or until the event
 * loop has been idle for 2 ms. Small work, sliced or not, therefore gets most of the event loop however much large work
 * there is, also when large work causes network traffic and garbage collection. Without other work, large work loses
 * next to nothing.
 */
export class TurnScheduler {
  readonly #host: SchedulerHost;
  readonly #budgetMs: number;
  readonly #small = new Set<() => void>();
  readonly #large = new Set<() => void>();
  /** Start of the current turn; undefined between turns. A turn begins with its first work. */
  #began: number | undefined;
  /** The work that ran last in this turn, and up to when its time is counted. */
  #present: Work | undefined;
  #countedTo = 0;
  /** When the present work began to run. */
  #since = 0;
  #hadLarge = false;
  /** Large work rests until then, or until the event loop has been idle for longer. */
  #rest: { until: number; idle: number } | undefined;
  /** After a rest one large work runs next, so that small work never starves it. */
  #isLargeNext = false;
  #isWaking = false;

  constructor({ host = eventLoop, budgetMs = standardBudgetMs }: { host?: SchedulerHost; budgetMs?: number } = {}) {
    this.#host = host;
    this.#budgetMs = budgetMs;
  }

  /** Whether the work should yield to others. */
  isDue(work: Work): boolean {
    const now = this.#begin();
    if (this.#present === work) work.heldMs += Math.min(now - this.#countedTo, maxSliceMs);
    this.#present = work;
    this.#countedTo = now;
    if (isLarge(work)) {
      if (this.#isResting(now)) return true;
      this.#hadLarge = true;
    }
    return this.#isSpent(now) || (this.#small.size + this.#large.size > 0 && now - this.#since >= quantumMs);
  }

  /** Call it when a work begins to run without a wait. */
  enter(work: Work): void {
    this.#goOn(work, this.#begin());
  }

  /**
   * Charges bytes that will arrive to the budget of this turn. They arrive outside of slices, so many works that each
   * admit some bytes would exceed the budget.
   */
  expect(bytes: number): void {
    this.#begin();
    this.#began! -= bytes * msPerArrivingByte;
  }

  /** Resolves when the work may run. */
  async wait(work: Work): Promise<void> {
    const now = this.#begin();
    await new Promise<void>((resolve) => {
      (isLarge(work) ? this.#large : this.#small).add(resolve);
      if (isLarge(work) && this.#isResting(now)) this.#wakeAfterRest();
    });
    this.#goOn(work, this.#host.now());
  }

  #begin(): number {
    const now = this.#host.now();
    if (this.#began === undefined) {
      this.#began = now;
      this.#since = now;
      this.#host.later(() => this.#nextTurn());
    }
    return now;
  }

  #goOn(work: Work, now: number): void {
    this.#present = work;
    this.#countedTo = now;
    this.#since = now;
  }

  #isSpent(now: number): boolean {
    return now - (this.#began ?? now) >= this.#budgetMs;
  }

  #nextTurn(): void {
    const now = this.#host.now();
    if (this.#hadLarge) this.#beginRest(now, now - this.#began!);
    this.#began = undefined;
    this.#present = undefined;
    if (this.#nextQueue(now) !== undefined) this.#resume(this.#begin());
  }

  /** Resumes one work at a time, until it waits: only then is the rest of the turn known. */
  #resume(now: number): void {
    const queue = this.#nextQueue(now);
    if (queue === undefined) return;
    const [first] = queue;
    queue.delete(first!);
    if (queue === this.#large) {
      this.#hadLarge = true;
      this.#isLargeNext = false;
    }
    this.#present = undefined;
    this.#since = now;
    first!();
    // A tick requested in a microtask runs after all microtasks.
    queueMicrotask(() => process.nextTick(() => this.#resumeNext()));
  }

  #resumeNext(): void {
    const now = this.#host.now();
    if (!this.#isSpent(now)) this.#resume(now);
  }

  #nextQueue(now: number): Set<() => void> | undefined {
    const mayLarge = this.#large.size > 0 && !this.#isResting(now);
    if (this.#small.size > 0 && !(mayLarge && this.#isLargeNext)) return this.#small;
    return mayLarge ? this.#large : undefined;
  }

  #beginRest(now: number, turnMs: number): void {
    this.#hadLarge = false;
    this.#rest = { until: now + Math.min(restShare * turnMs, maxRestMs), idle: this.#host.idle() + maxIdleMs };
    if (this.#large.size > 0) this.#wakeAfterRest();
  }

  #isResting(now: number): boolean {
    if (this.#rest === undefined) return false;
    if (now < this.#rest.until && this.#host.idle() < this.#rest.idle) return true;
    this.#rest = undefined;
    this.#isLargeNext = true;
    return false;
  }

  #wakeAfterRest(): void {
    if (this.#isWaking) return;
    this.#isWaking = true;
    this.#host.soon(() => {
      this.#isWaking = false;
      if (this.#isResting(this.#host.now())) this.#wakeAfterRest();
      else if (this.#large.size > 0) this.#begin();
    });
  }
}
