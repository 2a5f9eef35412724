import type { GroupResource, ObjectKey } from '#pkg/apimachinery/index';
import type { ReadRoom } from './read-room.ts';

/** One committed write, as every replica sees it, in the order of revisions. */
export interface Change extends ObjectKey {
  revision: number;
  /** The model, one incarnation of it: a model dropped and made anew has another number. */
  modelId: number;
  type: 'create' | 'update' | 'delete';
  /** After the change; of a delete the final state. JSON without resourceVersion. */
  body: string;
  fingerprint: string;
  /** Before it; absent on create. */
  old?: { revision: number; body: string; fingerprint: string; keys?: string };
  /**
   * Of a model with computed indexes: ComputedKeys as JSON, after the change; before it in `old`. A deletion has only
   * the latter.
   */
  keys?: string;
}

/** One life of a model, from its making to its being dropped. */
export interface Incarnation {
  /** As changes name it. */
  modelId: number;
  /** History up to here, under the same name, is that of an earlier life; 0 where there was none. */
  replaces: number;
  /** Computed indexes that are ready, by `ComputedKey.id`: changes after the revision have the keys. */
  computedSince: ReadonlyMap<string, number>;
}

/**
 * `writtenAt`: when each of the changes was written, by the database's clock, in milliseconds; absent for a batch that
 * this process has just written itself.
 */
export type ChangeListener = (changes: readonly Change[], cursor: number, writtenAt?: readonly number[]) => void;

/**
 * The order of all changes, told once to each listener: never a gap, never a repetition, never out of order.
 */
export interface ChangeFeed {
  /** Every change up to here has been told. */
  readonly cursor: number;
  /** When it was last known that everything committed until then has been told: `performance.now()`. */
  readonly currentAt: number;
  /** Changes up to here are no longer kept. */
  readonly compacted: number;
  /**
   * `listener` runs synchronously, must not throw and must be quick; the answer unsubscribes. It is also called without
   * changes when only the cursor moved.
   */
  subscribe(listener: ChangeListener): () => void;
  /** Reads up to the newest committed change; resolves with its revision, once every listener has been told. */
  catchUp(): Promise<number>;
  /** Resolves when `cursor` is at least `revision`; false if that takes longer than `timeoutMs`. */
  waitFor(revision: number, timeoutMs: number): Promise<boolean>;
  /**
   * Changes of one model after a revision, at most up to `cursor` and 1 MiB of bodies at a time, or one change that is
   * larger; `upTo` is how far the answer reaches. `room` is asked before more than 64 KiB are read, by default there is
   * always room; whoever reads settles with it. StorageError Compacted.
   */
  read(resource: GroupResource, after: number, room?: ReadRoom): Promise<{ changes: Change[]; upTo: number }>;
  /** A model's present incarnation, asked of the database; undefined if there is none. */
  incarnationOf(resource: GroupResource): Promise<Incarnation | undefined>;
}
