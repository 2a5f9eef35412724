import type { RefusedBy } from './limit-refusal.ts';

/** No value: no limit. */
export interface WatchLimits {
  watches?: number | undefined;
  watchesPerUser?: number | undefined;
}

/** The limit that refuses a watch, or the function that ends it, which must be called once. */
export type CountedWatch = Extract<RefusedBy, 'watches' | 'user_watches'> | (() => void);

/** Counts open watches: all of them, and those of each user. */
export interface WatchCounter {
  enter(user: string, limits: WatchLimits): CountedWatch | Promise<CountedWatch>;
}

/** Counts the watches of this process. */
export class LocalWatchCounter implements WatchCounter {
  readonly #byUser = new Map<string, number>();
  #count = 0;

  enter(user: string, { watches = Infinity, watchesPerUser = Infinity }: WatchLimits): CountedWatch {
    const ofUser = this.#byUser.get(user) ?? 0;
    if (this.#count >= watches) return 'watches';
    if (ofUser >= watchesPerUser) return 'user_watches';
    this.#count += 1;
    this.#byUser.set(user, ofUser + 1);
    return () => {
      this.#count -= 1;
      const left = this.#byUser.get(user)! - 1;
      if (left === 0) this.#byUser.delete(user);
      else this.#byUser.set(user, left);
    };
  }
}
