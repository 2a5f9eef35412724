import { abortError } from '../abort/abort-error.ts';
import { newWork, TurnScheduler, type Work } from './turn-scheduler.ts';

/** The scheduler of the process: all work shares one event loop. */
const processScheduler = new TurnScheduler();

export interface TurnOptions {
  /** Aborted work stops at its next wait; what is done within its turn is done. */
  signal?: AbortSignal | undefined;
  /**
   * Whether it reads, writes or sends so much that all small work goes first. Default: once it has held the event loop
   * for 3 ms.
   */
  isLarge?: boolean;
  /** Default: that of the process. */
  scheduler?: TurnScheduler;
}

/**
 * Lets other work run between the parts of a long computation. All such computations share 10 ms per turn of the event
 * loop. Time counts from its creation, best right after an `await`: `if (turns.due) await turns.next()` costs small
 * work next to nothing.
 */
export class EventLoopTurns {
  readonly #signal: AbortSignal | undefined;
  readonly #scheduler: TurnScheduler;
  readonly #work: Work;

  constructor({ signal, isLarge, scheduler = processScheduler }: TurnOptions = {}) {
    this.#signal = signal;
    this.#scheduler = scheduler;
    this.#work = newWork(isLarge);
    scheduler.enter(this.#work);
  }

  get due(): boolean {
    return this.#scheduler.isDue(this.#work);
  }

  /** Call when admitting bytes that arrive later and then take event loop time. */
  expect(bytes: number): void {
    this.#scheduler.expect(bytes);
  }

  /**
   * Resolves in another turn of the event loop, or in the rest of this one. @throws the signal's StatusError, or 504
   */
  async next(): Promise<void> {
    if (this.#signal?.aborted !== true) await this.#scheduler.wait(this.#work);
    if (this.#signal?.aborted === true) throw abortError(this.#signal);
  }
}

/**
 * Resolves when a part of large work may run: call it before reading, building or sending hundreds of kilobytes.
 * `arriving`: the number of bytes that this work admits and that arrive later.
 */
export async function largeTurn(arriving = 0): Promise<void> {
  const turns = new EventLoopTurns({ isLarge: true });
  if (turns.due) await turns.next();
  turns.expect(arriving);
}

/** A computation that can be suspended at each `yield`. Its input must not change meanwhile. */
export type SlicedWork<T> = Generator<undefined, T, void>;

/** Runs it at once, for work that is small or must be done before anything else happens. */
export function runSync<T>(work: SlicedWork<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/**
 * Runs it in slices, between which other work runs. @throws what the work throws; once the signal aborts, its
 * StatusError or 504
 */
export async function runInTurns<T>(work: SlicedWork<T>, options?: TurnOptions): Promise<T> {
  const turns = new EventLoopTurns(options);
  for (;;) {
    if (turns.due) await turns.next();
    const step = work.next();
    if (step.done === true) return step.value;
  }
}
