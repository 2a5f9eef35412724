import type { GroupResource, ObjectKey } from '#pkg/apimachinery/index';
import type { ReadBudget } from './read-budget.ts';

/** One committed write, as every replica receives it, in the order of revisions. */
export interface Change extends ObjectKey {
  revision: number;
  /** The number of the model's incarnation: a model that is dropped and recreated has another number. */
  modelId: number;
  type: 'create' | 'update' | 'delete';
  /** The object after the change; for a delete its final state. JSON without resourceVersion and managedFields. */
  body: string;
  /** metadata.managedFields as JSON; absent or '' for none. */
  managed?: string | undefined;
  fingerprint: string;
  /** The object before the change; absent on create. */
  old?: { revision: number; body: string; managed?: string | undefined; fingerprint: string; keys?: string };
  /**
   * For a model with computed indexes: ComputedKeys as JSON after the change; `old` has those before it. A deletion has
   * only the latter.
   */
  keys?: string;
}

/** One life of a model, from its creation to its removal. */
export interface Incarnation {
  /** The `modelId` of its changes. */
  modelId: number;
  /** History of the same name up to this revision belongs to an earlier incarnation; 0 if there was none. */
  replaces: number;
  /** Ready computed indexes, by `ComputedKey.id`: changes after the given revision contain the keys. */
  computedSince: ReadonlyMap<string, number>;
}

/**
 * `writtenAt`: when each change was written, by the database's clock, in milliseconds; absent for a batch that this
 * process itself has just written.
 */
export type ChangeListener = (changes: readonly Change[], cursor: number, writtenAt?: readonly number[]) => void;

/** Delivers all changes in order, each exactly once per listener: no gap, no repetition. */
export interface ChangeFeed {
  /** Every change up to this revision has been delivered. */
  readonly cursor: number;
  /** Everything committed before this time has been delivered. A value of `performance.now()`. */
  readonly currentAt: number;
  /** Changes up to this revision are no longer kept. */
  readonly compacted: number;
  /**
   * May this revision, not above `cursor`, have been given out and then been lost in a failover? Nobody can go on from it.
   */
  isLost(revision: number): boolean;
  /**
   * `listener` runs synchronously, must not throw and must be fast. It is also called without changes when only the
   * cursor moved. Returns a function that unsubscribes.
   */
  subscribe(listener: ChangeListener): () => void;
  /** Reads up to the newest committed change; resolves with its revision, after every listener has received it. */
  catchUp(): Promise<number>;
  /** Resolves when `cursor` is at least `revision`; false if that takes longer than `timeoutMs`. */
  waitFor(revision: number, timeoutMs: number): Promise<boolean>;
  /**
   * Reads changes of one model after a revision and up to `cursor`: at most 1 MiB of bodies at a time, or one larger
   * change. `upTo` is the last revision that the result covers. `readBudget` must admit a read of more than 64 KiB
   * (default: always admitted); the caller reports to it what it holds. StorageError Compacted.
   */
  read(resource: GroupResource, after: number, readBudget?: ReadBudget): Promise<{ changes: Change[]; upTo: number }>;
  /** A model's current incarnation, read from the database; undefined if there is none. */
  incarnationOf(resource: GroupResource): Promise<Incarnation | undefined>;
}
