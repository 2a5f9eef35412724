import type { ChangeFeed } from '../../change.ts';
import type { ListQuery } from '../../store.ts';
import type { Table } from '../table/table.ts';

const maxBounds = 1000;
const maxModels = 1000;
/** Longer selectors (characters) are not remembered, to save memory. */
const maxKeyLength = 2000;
/** Time for the feed to reach a list's revision. Milliseconds. */
const feedTimeoutMs = 5000;
/** Matches counted above a limit: this many changes may follow before a new count is needed. */
export const boundMargin = 2000;

interface Bound {
  matches: number;
  /** The model's losses at the time of the count. */
  losses: number;
}

/**
 * Remembers selectors that match more objects than can be gathered or must be counted, as long as that is certain: each
 * update or deletion removes at most one match.
 */
export class MatchBounds {
  readonly #feed: ChangeFeed;
  readonly #unsubscribe: () => void;
  readonly #bounds = new Map<string, Bound>();
  /** Updates and deletions received so far per model; the model that changed last is at the end. */
  readonly #losses = new Map<number, number>();
  /** The highest number of losses of a forgotten model: no model without an entry has more. */
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

  forgetAll(): void {
    this.#bounds.clear();
  }

  /** Does the selector match more than `limit` objects, by the changes this process has received? */
  exceeds(table: Table, query: ListQuery, limit: number): boolean {
    const key = keyOf(table, query);
    const bound = this.#bounds.get(key);
    if (bound === undefined) return false;
    const isAbove = bound.matches - (this.#lossesOf(table.id) - bound.losses) > limit;
    this.#bounds.delete(key);
    if (isAbove) this.#bounds.set(key, bound);
    return isAbove;
  }

  /** Like `exceeds`, for a list at `revision`, with certainty. */
  async exceedsAt(
    table: Table,
    query: ListQuery,
    { revision, limit }: { revision: number; limit: number },
  ): Promise<boolean> {
    return (await this.#feed.waitFor(revision, feedTimeoutMs)) && this.exceeds(table, query, limit);
  }

  /** Call it before the matches are counted. The result takes their number, or a lower bound of it. */
  counting(table: Table, query: ListQuery): (matches: number) => void {
    const losses = this.#lossesOf(table.id);
    return (matches) => {
      const key = keyOf(table, query);
      if (key.length > maxKeyLength) return;
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

  /** Increases with each loss and never decreases: a forgotten model may seem to have lost more than it did. */
  #lossesOf(modelId: number): number {
    return this.#losses.get(modelId) ?? this.#uncounted;
  }
}

function keyOf({ id }: Table, { namespace = '', selector }: ListQuery): string {
  return `${id}/${namespace}/${JSON.stringify(selector)}`;
}
