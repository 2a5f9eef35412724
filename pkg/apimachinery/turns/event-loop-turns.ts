import { abortError } from '../abort/abort-error.ts';
import { newWork, TurnScheduler, type Work } from './turn-scheduler.ts';

/** Of the process: its works share one event loop. */
const processScheduler = new TurnScheduler();

export interface TurnOptions {
  /** Work that nobody waits for any more is given up where it would wait; what is done within its turn is done. */
  signal?: AbortSignal | undefined;
  /**
   * It reads, writes or sends so much that all small work goes before it. Default: once it has held the event loop for
   * 3 ms.
   */
  isLarge?: boolean;
  /** Default: that of the process. */
  scheduler?: TurnScheduler;
}

/**
 * Lets others run between the parts of a long computation, of which there may be many at once: they share the 10 ms
 * that a turn of the event loop has for them all. Counts from where it is made, which is best right after an `await`:
 * `if (turns.due) await turns.next()` costs small work next to nothing.
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

  /** Bytes are let in now, which arrive later and take their time of the event loop then. */
  expect(bytes: number): void {
    this.#scheduler.expect(bytes);
  }

  /**
   * Resolves in another turn of the event loop, or in what others leave of this one. @throws the signal's StatusError,
   * or 504
   */
  async next(): Promise<void> {
    if (this.#signal?.aborted !== true) await this.#scheduler.wait(this.#work);
    if (this.#signal?.aborted === true) throw abortError(this.#signal);
  }
}

/**
 * Resolves when a part of large work may be done: before something that reads, makes or sends hundreds of kilobytes.
 * `arriving`: so many bytes are let in by it, which arrive later.
 */
export async function largeTurn(arriving = 0): Promise<void> {
  const turns = new EventLoopTurns({ isLarge: true });
  if (turns.due) await turns.next();
  turns.expect(arriving);
}

/**
 * A computation that can be left and gone on with at each `yield`. What it reads must not be changed by others
 * meanwhile.
 */
export type SlicedWork<T> = Generator<undefined, T, void>;

/** All of it now, for work that is small or has to be done before anything else happens. */
export function runAtOnce<T>(work: SlicedWork<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/**
 * In slices, between which others have their turn. @throws what the work throws; once the signal aborts, its
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
