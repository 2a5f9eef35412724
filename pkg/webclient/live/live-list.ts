import type { AnyObject, Stored } from '#pkg/apimachinery/index';
import type { LiveState } from './list-follower.ts';
import type { LiveStore } from './live-store.ts';

/** A list that stays up to date, with the state of its stream. */
export class LiveList<T extends AnyObject> {
  readonly #store: LiveStore<T>;
  readonly #release: () => void;
  readonly #compare: (a: Stored<T>, b: Stored<T>) => number;
  readonly #unsubscribes = new Set<() => void>();
  #isStopped = false;
  #sorted: { version: number; items: readonly Stored<T>[] } = { version: -1, items: [] };

  /** `release` is called once, when it is stopped. */
  constructor(
    store: LiveStore<T>,
    {
      release,
      compare = byName,
    }: { release: () => void; compare: ((a: Stored<T>, b: Stored<T>) => number) | undefined },
  ) {
    this.#store = store;
    this.#release = release;
    this.#compare = compare;
  }

  /** The objects, sorted: the same array until one changes. */
  get current(): readonly Stored<T>[] {
    const { version, objects } = this.#store;
    if (this.#sorted.version !== version)
      this.#sorted = { version, items: [...objects.values()].toSorted(this.#compare) };
    return this.#sorted.items;
  }

  get state(): LiveState {
    return this.#store.state;
  }

  /** Resolves when the first list is there. Never rejects: `state` tells of failures. */
  get ready(): Promise<void> {
    return new Promise((resolve) => {
      const settle = (): void => {
        if (!this.#store.isLoaded) return;
        unsubscribe();
        resolve();
      };
      const unsubscribe = this.subscribe(settle);
      settle();
    });
  }

  /** Calls `listener` after each change of `current` or `state`. Returns its end. */
  subscribe(listener: () => void): () => void {
    const unsubscribe = this.#store.subscribe(listener);
    this.#unsubscribes.add(unsubscribe);
    return () => {
      this.#unsubscribes.delete(unsubscribe);
      unsubscribe();
    };
  }

  /** Ends its subscriptions; the stream ends with the last list of the same selection. */
  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    for (const unsubscribe of this.#unsubscribes) unsubscribe();
    this.#unsubscribes.clear();
    this.#release();
  }
}

function byName({ metadata: a }: Stored<AnyObject>, { metadata: b }: Stored<AnyObject>): number {
  return compareText(a.namespace ?? '', b.namespace ?? '') || compareText(a.name, b.name);
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
