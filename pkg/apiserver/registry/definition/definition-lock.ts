import type { Store } from '#pkg/storage/index';
import { KeyedQueue } from '../model/keyed-queue.ts';

/**
 * Lets one writer at a time, over all replicas, change names, tables and status of definitions. The writers of this
 * process queue here first, because each waiter for the store's lock takes a database connection.
 */
export class DefinitionLock {
  readonly #store: Store;
  readonly #queue = new KeyedQueue();

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * Runs `work` under the lock, with everything read that was committed before. StatusError 429 when too many wait.
   * `held` aborts with `signal`, and when the lock is lost: nothing may be settled from then on.
   */
  run<T>(signal: AbortSignal, work: (held: AbortSignal) => Promise<T>): Promise<T> {
    return this.#queue.run('definitions', signal, () =>
      this.#store.exclusively(
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
