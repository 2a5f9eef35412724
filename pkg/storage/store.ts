import type { ApiObject, Fence, GroupResource, Model, ObjectKey, Selector, Sort } from '#pkg/apimachinery/index';
import type { ChangeFeed } from './change.ts';
import type { ReadRoom } from './read-room.ts';

/** An object as it is kept. */
export interface StoredObject extends ObjectKey {
  /** The change that wrote it; its resourceVersion. */
  revision: number;
  /** JSON without resourceVersion, beginning with apiVersion, kind and metadata: see `encodeBody`. */
  body: string;
  /** What `body` was written under: the caller's word for a version and its schema. */
  fingerprint: string;
  /** Of a model with computed indexes, as `get` and `write` give it: ComputedKeys as JSON. */
  keys?: string;
}

/** Every write names the object it was computed from: an update of anything newer is a Conflict. */
export type Write =
  | { type: 'create'; resource: GroupResource; object: ApiObject; fingerprint: string }
  | { type: 'update'; resource: GroupResource; object: ApiObject; fingerprint: string; from: StoredObject }
  | {
      type: 'delete';
      resource: GroupResource;
      /** The final state, as the last event tells it. */
      object: ApiObject;
      fingerprint: string;
      from: StoredObject;
    };

export interface StoreWriteOptions {
  /** Checks name, revision and unique values, and writes nothing; the answer's revision is that of `from`, or 0. */
  dryRun?: boolean;
  /** Remembered with the write, in the same statement; see `Store.recall`. */
  idempotency?: IdempotencyKey;
  /**
   * Written only while somebody holds the lease after so many transitions, else FenceLost: from the commit that changes
   * the lease on no write with the old number is made, on any replica. The lease is an object of coordination.k8s.io
   * `leases`.
   */
  fence?: Fence;
  /** Names the request in what the store's observer is told. */
  requestId?: string;
  /** Checked before the write is queued; from then on it has an outcome, whoever still waits for it. */
  signal?: AbortSignal;
}

/** Names one request of one user, so that its repetition has the first one's outcome. */
export interface IdempotencyKey {
  user: string;
  method: string;
  path: string;
  key: string;
  /** Hash of the request's body: another body under the same key is a mistake. */
  bodyHash: string;
}

/** What an idempotency key led to. */
export interface RememberedWrite {
  bodyHash: string;
  type: 'create' | 'update' | 'delete';
  /** The object as the write left it; for a delete its final state. */
  object: StoredObject;
}

export interface ListQuery {
  /** '' or absent: all namespaces, or a cluster-scoped resource. */
  namespace?: string;
  selector: Selector;
  sort: Sort;
  /** Asked before much is read. Default: there is always room. */
  room?: ReadRoom;
  signal?: AbortSignal;
}

export interface PageQuery extends ListQuery {
  /** From 1. */
  page: number;
  size: number;
  /** Count all matches, however many. */
  exactTotal: boolean;
  /** Matches counted exactly without `exactTotal`. */
  exactTotalLimit: number;
}

export interface ObjectPage {
  /** The snapshot: everything up to this revision, nothing after. */
  revision: number;
  items: StoredObject[];
  /** Of a page too large for memory all objects, `items` being empty then; to be iterated or closed. */
  rest?: ObjectStream;
  total: number;
  totalIsLowerBound: boolean;
  hasNext: boolean;
}

export interface ChunkQuery extends ListQuery {
  /** At most; fewer come where they are large. */
  limit: number;
  /** Absent for the first chunk. */
  after?: ChunkPosition;
}

/** Where a chunked list goes on. */
export interface ChunkPosition extends ObjectKey {
  /** Chunks with one revision are one snapshot. */
  revision: number;
  /** Sort keys of the last object served, in the order of the query's sort. */
  keys: (string | number | boolean | null)[];
  /** Objects served so far. */
  served: number;
  /** Objects in all; known for a list without selectors. */
  total?: number;
}

export interface ObjectChunk {
  revision: number;
  items: StoredObject[];
  next?: ChunkPosition;
  /** Objects after this chunk; known for a list without selectors. */
  remaining?: number;
}

export interface StreamQuery extends ListQuery {
  /** By `sort`, or in the order of revisions (then `sort` is empty). */
  order: 'sort' | 'revision';
}

/** A whole list as one snapshot; `objects` may be iterated once, and must be iterated or closed. */
export interface ObjectStream {
  revision: number;
  objects: AsyncIterable<StoredObject[]>;
  close(): Promise<void>;
}

/** What a store needs to know of a model. */
export type StoredModel = Pick<Model, 'group' | 'names' | 'scope' | 'indexes' | 'keyScript'>;

/** How far the indexes of a model are. */
export interface IndexState {
  name: string;
  state: 'ready' | 'building' | 'failed';
  /** Why it failed. */
  message?: string;
}

/**
 * Keeps the objects of all models, numbers every change with one global, strictly increasing revision in commit
 * order, and tells of every change. Nothing above it knows a table or a database error: it throws StorageError.
 */
export interface Store {
  /** The one source of news, of this process's writes and of all others'. */
  readonly changes: ChangeFeed;
  /**
   * Resolves when the database under a running store was restored or failed over: what was told may never have
   * happened, so whatever was derived from it is to be thrown away; a process does best to end and begin anew.
   */
  readonly rewound: Promise<void>;

  /**
   * Makes the place for a model's objects, or adapts its indexes; idempotent, safe from several replicas at once.
   * Indexes change when nobody reads the objects in a long transaction, as a backup does: StorageError TableInUse after
   * `lockTimeoutMs` (default 10 000), with nothing changed.
   */
  ensureModel(model: StoredModel, lockTimeoutMs?: number): Promise<void>;
  /**
   * Removes a model with all its objects, at once and without events; idempotent. What it took in the database may go
   * later.
   */
  dropModel(resource: GroupResource): Promise<void>;
  /** Of every declared index; empty for a model without. */
  indexStates(resource: GroupResource): Promise<IndexState[]>;

  get(resource: GroupResource, key: ObjectKey, room?: ReadRoom): Promise<StoredObject | undefined>;
  write(write: Write, options?: StoreWriteOptions): Promise<StoredObject>;
  /** Remembers an idempotency key whose request changed nothing, with the object it found. StorageError IdempotencyKeyUsed. */
  remember(idempotencyKey: IdempotencyKey, object: StoredObject): Promise<void>;
  /** The outcome of an earlier request under this idempotency key, if any. */
  recall(idempotencyKey: IdempotencyKey, room?: ReadRoom): Promise<RememberedWrite | undefined>;

  page(resource: GroupResource, query: PageQuery): Promise<ObjectPage>;
  chunk(resource: GroupResource, query: ChunkQuery): Promise<ObjectChunk>;
  stream(resource: GroupResource, query: StreamQuery): Promise<ObjectStream>;

  /**
   * Removes old history and expired idempotency keys; returns when one round is done, at once if another replica is
   * at it, soon after `signal` aborts.
   */
  compact(limits: CompactionLimits, signal?: AbortSignal): Promise<void>;
  /**
   * Runs `work` while no other replica runs one under the same name; `signal` ends the waiting. `held` aborts when
   * `signal` does, and when the lock is lost with its connection: `work` must stop then, for another replica may begin.
   */
  exclusively<T>(name: string, work: (held: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Resolves if the database answers. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

export interface CompactionLimits {
  /** History younger than this is kept. Milliseconds. */
  minAge: number;
  /** History is cut to this size, whatever its age. Bytes. */
  maxSize: number;
  /** How long idempotency keys are kept. Milliseconds. */
  idempotencyKeyAge: number;
}
