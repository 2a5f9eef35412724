import type { ChangeFeed } from '../../change.ts';
import type { ListQuery } from '../../store.ts';
import type { Table } from '../table/table.ts';

const maxBounds = 1000;
const maxModels = 1000;
/** Selectors of more characters are not worth their memory. */
const maxKey = 2000;
/** For the feed to come as far as a list is. Milliseconds. */
const feedWait = 5000;
/** Matches counted beyond a limit, so that as many changes may come before they have to be counted again. */
export const margin = 2000;

interface Bound {
  matches: number;
  /** Of the model, when it was counted. */
  losses: number;
}

/**
 * Knows which selectors match more than can be gathered or need be counted, as long as that is certain: each update or
 * deletion of an object takes one match away at most.
 */
export class MatchBounds {
  readonly #feed: ChangeFeed;
  readonly #unsubscribe: () => void;
  readonly #bounds = new Map<string, Bound>();
  /** Updates and deletions told of so far, of each model; the one that changed last at the end. */
  readonly #losses = new Map<number, number>();
  /** The most of a model that is no longer counted: of those that are not, none has had more. */
  #uncounted = 0;

  constructor(feed: ChangeFeed) {
    this.#feed = feed;
    this.#unsubscribe = feed.subscribe((changes) => {
      for (const { modelId, type } of changes) if (type !== 'create') this.#lose(modelId);
    });
  }

  close(): void {
    this.#unsubscribe();
    this.#bounds.clear();
  }

  /** Does the selector match more than `limit`, as far as this process has been told? */
  exceeds(table: Table, query: ListQuery, limit: number): boolean {
    const key = keyOf(table, query);
    const bound = this.#bounds.get(key);
    if (bound === undefined) return false;
    const isAbove = bound.matches - (this.#lossesOf(table.id) - bound.losses) > limit;
    this.#bounds.delete(key);
    if (isAbove) this.#bounds.set(key, bound);
    return isAbove;
  }

  /** The same for a list at `revision`, for certain. */
  async exceedsAt(
    table: Table,
    query: ListQuery,
    { revision, limit }: { revision: number; limit: number },
  ): Promise<boolean> {
    return (await this.#feed.waitFor(revision, feedWait)) && this.exceeds(table, query, limit);
  }

  /** To be called before matches are counted; the answer takes their number, of which there may be more. */
  counting(table: Table, query: ListQuery): (matches: number) => void {
    const losses = this.#lossesOf(table.id);
    return (matches) => {
      const key = keyOf(table, query);
      if (key.length > maxKey) return;
      this.#bounds.delete(key);
      this.#bounds.set(key, { matches, losses });
      if (this.#bounds.size > maxBounds) this.#bounds.delete(this.#bounds.keys().next().value!);
    };
  }

  #lose(modelId: number): void {
    const losses = this.#lossesOf(modelId) + 1;
    this.#losses.delete(modelId);
    this.#losses.set(modelId, losses);
    if (this.#losses.size <= maxModels) return;
    const [stillest, most] = this.#losses.entries().next().value!;
    this.#losses.delete(stillest);
    this.#uncounted = Math.max(this.#uncounted, most);
  }

  /**
   * Grows with each loss, and never goes back: where a model is forgotten, it may seem to have lost more than it did.
   */
  #lossesOf(modelId: number): number {
    return this.#losses.get(modelId) ?? this.#uncounted;
  }
}

function keyOf({ id }: Table, { namespace = '', selector }: ListQuery): string {
  return `${id}/${namespace}/${JSON.stringify(selector)}`;
}
