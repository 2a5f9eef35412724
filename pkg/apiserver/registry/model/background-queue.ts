import type { Logger } from 'pino';

export interface BackgroundQueueOptions {
  /** For the log. */
  name: string;
  /**
   * Processes one key. 'more' requests another turn at once, 'again' requests one after a pause. A thrown error is
   * logged and counts as 'again'.
   */
  work: (key: string, signal: AbortSignal) => Promise<'done' | 'again' | 'more'>;
  log: Logger;
  /** Pause before the second turn; doubles with each further one. Milliseconds, default 250. */
  firstPauseMs?: number;
  /** Milliseconds, default 5000. */
  maxPauseMs?: number;
}

interface Turn {
  due: number;
  pauses: number;
}

/**
 * Processes keys in the background, one at a time, each until its work is done. A key that is added again is due at
 * once. A key that waits for its pause does not delay others.
 */
export class BackgroundQueue {
  readonly #options: Required<BackgroundQueueOptions>;
  readonly #turns = new Map<string, Turn>();
  readonly #abort = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;

  constructor(options: BackgroundQueueOptions) {
    this.#options = { firstPauseMs: 250, maxPauseMs: 5_000, ...options };
  }

  get size(): number {
    return this.#turns.size;
  }

  has(key: string): boolean {
    return this.#turns.has(key);
  }

  add(key: string): void {
    if (this.#abort.signal.aborted) return;
    this.#turns.set(key, { due: performance.now(), pauses: 0 });
    this.#schedule();
  }

  remove(key: string): void {
    this.#turns.delete(key);
  }

  /** Resolves when the running work has ended. */
  async stop(): Promise<void> {
    this.#abort.abort();
    clearTimeout(this.#timer);
    this.#turns.clear();
    await this.#running;
  }

  #schedule(): void {
    if (this.#running !== undefined || this.#abort.signal.aborted || this.#turns.size === 0) return;
    clearTimeout(this.#timer);
    const next = Math.min(...[...this.#turns.values()].map(({ due }) => due));
    this.#timer = setTimeout(
      () => {
        this.#running = this.#runDue().finally(() => {
          this.#running = undefined;
          this.#schedule();
        });
      },
      Math.max(0, next - performance.now()),
    );
  }

  async #runDue(): Promise<void> {
    for (const [key, turn] of [...this.#turns].filter(([, { due }]) => due <= performance.now())) {
      if (this.#abort.signal.aborted) return;
      // Skip a key that was removed or added again while other keys were processed.
      if (this.#turns.get(key) === turn) await this.#runOne(key, turn);
    }
  }

  async #runOne(key: string, turn: Turn): Promise<void> {
    const { work, log, name, firstPauseMs, maxPauseMs } = this.#options;
    let outcome: 'done' | 'again' | 'more' = 'again';
    try {
      outcome = await work(key, this.#abort.signal);
    } catch (error) {
      if (this.#abort.signal.aborted) return;
      log.warn({ err: error, key }, `${name} failed; trying again`);
    }
    if (this.#turns.get(key) !== turn) return;
    if (outcome === 'done') this.#turns.delete(key);
    else if (outcome === 'more') this.#turns.set(key, { due: performance.now(), pauses: 0 });
    else
      this.#turns.set(key, {
        due: performance.now() + Math.min(maxPauseMs, firstPauseMs * 2 ** turn.pauses),
        pauses: turn.pauses + 1,
      });
  }
}
