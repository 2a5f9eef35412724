import type { Store } from '#pkg/storage/index';
import { KeyedQueue } from '../model/keyed-queue.ts';

/**
 * Serializes changes to names, tables and status of definitions over all replicas. Writers of this process wait here
 * first, because each waiter for the store's lock takes a database connection.
 */
export class DefinitionLock {
  readonly #store: Store;
  readonly #queue = new KeyedQueue();

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * Runs `work` under the lock, after reading every change committed before. StatusError 429 when too many callers
   * wait. `held` aborts with `signal`, and when the lock is lost: `work` must settle nothing afterwards.
   */
  run<T>(signal: AbortSignal, work: (held: AbortSignal) => Promise<T>): Promise<T> {
    return this.#queue.run('definitions', signal, () =>
      this.#store.runExclusively(
        'definitions',
        async (held) => {
          await this.#store.changes.catchUp();
          held.throwIfAborted();
          return work(held);
        },
        signal,
      ),
    );
  }
}
