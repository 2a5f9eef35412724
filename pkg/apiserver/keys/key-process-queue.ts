import { StorageError } from '#pkg/storage/index';
import { KeyProcess, KeyProcessEnded, type KeyProcessOptions } from './key-process.ts';

/** Pause after a process that could not be started. Milliseconds. */
const pauseMs = 1000;

/** Sends requests to one process, one after the other; starts it when it is first needed. */
export class KeyProcessQueue {
  readonly #options: KeyProcessOptions;
  #process: KeyProcess | undefined;
  #turns: Promise<unknown> = Promise.resolve();
  #notBefore = 0;
  #isStopped = false;

  constructor(options: KeyProcessOptions) {
    this.#options = options;
  }

  /** @throws KeyProcessEnded, or StorageError KeysUnavailable if no process can be started */
  turn<T>(work: (process: KeyProcess) => Promise<T>): Promise<T> {
    const result = this.#turns.then(() => work(this.#process?.hasEnded === false ? this.#process : this.#begin()));
    this.#turns = result.catch(() => undefined);
    return result;
  }

  /**
   * The same, but the process's end must be caused by this work: if it may not be, the work is repeated once in a new
   * process.
   * @param hasHung whether this work has made a process hang before
   */
  turnAlone<T>(work: (process: KeyProcess) => Promise<T>, hasHung = false): Promise<T> {
    return this.turn(async (process) => {
      const { isUsed } = process;
      try {
        return await work(process);
      } catch (error) {
        if (!(error instanceof KeyProcessEnded) || (error.reason === 'hang' ? hasHung : !isUsed)) throw error;
        return work(this.#begin());
      }
    });
  }

  /** Work that waits for its turn fails. Idempotent, never rejects. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#process?.stop();
    await this.#turns;
  }

  #begin(): KeyProcess {
    if (this.#isStopped) throw new StorageError('KeysUnavailable', 'the server is stopping');
    if (performance.now() < this.#notBefore)
      throw new StorageError('KeysUnavailable', 'the process that computes keys could not be begun just now');
    // Until it has started.
    this.#notBefore = performance.now() + pauseMs;
    const process = new KeyProcess(this.#options);
    this.#process = process;
    process.begun.then(
      () => (this.#notBefore = 0),
      () => (this.#notBefore = performance.now() + pauseMs),
    );
    return process;
  }
}
