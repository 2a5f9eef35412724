import type { LimitedKey } from './worker-messages.ts';

/** Counts over all workers, by key. What a worker has counted goes with it. */
export class SharedCounts {
  readonly #all = new Map<string, number>();
  readonly #byWorker = new Map<number, Map<string, number>>();

  /** Counts one more of each key, or of none; answers the index of the first key whose limit is reached. */
  enter(worker: number, keys: readonly LimitedKey[]): number | undefined {
    const full = keys.findIndex(({ key, limit }) => (this.#all.get(key) ?? 0) >= limit);
    if (full !== -1) return full;
    const own = this.#byWorker.get(worker) ?? new Map<string, number>();
    this.#byWorker.set(worker, own);
    for (const { key } of keys) {
      add(this.#all, key, 1);
      add(own, key, 1);
    }
    return undefined;
  }

  leave(worker: number, keys: readonly string[]): void {
    const own = this.#byWorker.get(worker);
    for (const key of keys) {
      if (own?.has(key) !== true) continue;
      add(own, key, -1);
      add(this.#all, key, -1);
    }
  }

  /** The worker has ended. */
  forget(worker: number): void {
    for (const [key, count] of this.#byWorker.get(worker) ?? []) add(this.#all, key, -count);
    this.#byWorker.delete(worker);
  }

  /** Keys of which anything is counted. */
  get size(): number {
    return this.#all.size;
  }
}

function add(counts: Map<string, number>, key: string, more: number): void {
  const count = (counts.get(key) ?? 0) + more;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
