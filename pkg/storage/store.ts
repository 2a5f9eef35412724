import type { ApiObject, Fence, GroupResource, Model, ObjectKey, Selector, Sort } from '#pkg/apimachinery/index';
import type { ChangeFeed } from './change.ts';
import type { AuditLog, AuditRow } from '#pkg/audit/index';
import type { Quotas } from './quotas.ts';
import type { ReadBudget } from './read-budget.ts';

/** A stored object. */
export interface StoredObject extends ObjectKey {
  /** The revision of the change that wrote the object; its resourceVersion. */
  revision: number;
  /**
   * JSON without resourceVersion and managedFields, beginning with apiVersion, kind and metadata: see
   * `encodeStoredBody`.
   */
  body: string;
  /**
   * metadata.managedFields as JSON; '' for none. Absent while the model has no place for them: they are in the body
   * then.
   */
  managed?: string | undefined;
  /** Identifies the version and schema that `body` was written under; chosen by the caller. */
  fingerprint: string;
  /** ComputedKeys as JSON, for a model with computed indexes; set by `get` and `write`. */
  keys?: string;
}

/**
 * A write other than a create names the object that it was computed from: if the stored one is newer, the write is a
 * Conflict.
 */
export type Write =
  | { type: 'create'; resource: GroupResource; object: ApiObject; fingerprint: string }
  | { type: 'update'; resource: GroupResource; object: ApiObject; fingerprint: string; from: StoredObject }
  | {
      type: 'delete';
      resource: GroupResource;
      /** The final state, which the last event contains. */
      object: ApiObject;
      fingerprint: string;
      from: StoredObject;
    };

export interface StoreWriteOptions {
  /** Checks name, revision and unique values, but writes nothing; the result's revision is that of `from`, or 0. */
  dryRun?: boolean;
  /** Stored with the write, in the same statement; see `Store.findRememberedWrite`. */
  idempotency?: IdempotencyKey;
  /**
   * The write takes place only while the lease is held with this number of transitions, else FenceLost. After the
   * commit that changes the lease, no replica makes a write with the old number. The lease is an object of
   * coordination.k8s.io `leases`.
   */
  fence?: Fence;
  /** Written in the same statement, so that the audit log has a row of each write that took place, and of no other. */
  audit?: AuditRow;
  /** Identifies the request in reports to the store's observer. */
  requestId?: string;
  /** Checked before the write is queued. A queued write always gets an outcome, even if its caller no longer waits. */
  signal?: AbortSignal;
}

/** Identifies one request of one user, so that its repetition gets the first outcome. */
export interface IdempotencyKey {
  user: string;
  method: string;
  path: string;
  key: string;
  /** Hash of the request's body: another body under the same key is an error. */
  bodyHash: string;
}

/** The outcome of an idempotency key. */
export interface RememberedWrite {
  bodyHash: string;
  type: 'create' | 'update' | 'delete';
  /** The object after the write; for a delete its final state. */
  object: StoredObject;
}

export interface ListQuery {
  /** '' or absent: all namespaces, or a cluster-scoped resource. */
  namespace?: string;
  selector: Selector;
  sort: Sort;
  /** Must admit large reads. Default: always admitted. */
  readBudget?: ReadBudget;
  signal?: AbortSignal;
}

export interface PageQuery extends ListQuery {
  /** From 1. */
  page: number;
  size: number;
  /** Count all matches. */
  exactTotal: boolean;
  /** Maximum number of matches counted exactly without `exactTotal`. */
  exactTotalLimit: number;
}

export interface ObjectPage {
  /** The snapshot: all changes up to this revision, none after. */
  revision: number;
  items: StoredObject[];
  /** All objects of a page that is too large for memory; `items` is empty then. Must be iterated or closed. */
  rest?: ObjectStream;
  total: number;
  totalIsLowerBound: boolean;
  hasNext: boolean;
}

export interface ChunkQuery extends ListQuery {
  /** Maximum number of objects; a chunk of large objects has fewer. */
  limit: number;
  /** Absent for the first chunk. */
  after?: ChunkPosition;
}

/** The position where a chunked list continues. */
export interface ChunkPosition extends ObjectKey {
  /** Chunks with one revision are one snapshot. */
  revision: number;
  /** Sort keys of the last object served, in the order of the query's sort. */
  keys: (string | number | boolean | null)[];
  /** Objects served so far. */
  served: number;
  /** Total number of objects; known for a list without selectors. */
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

/** The parts of a model that a store needs. */
export type StoredModel = Pick<Model, 'group' | 'names' | 'scope' | 'indexes' | 'keyScript'>;

/** The state of one index of a model. */
export interface IndexState {
  name: string;
  state: 'ready' | 'building' | 'failed';
  /** Why it failed. */
  message?: string;
  /** Of the index that this replica is building; other replicas do not know it. */
  progress?: IndexBuildProgress;
}

export interface IndexBuildProgress {
  /** `filling its column`, or a phase of PostgreSQL's view pg_stat_progress_create_index. */
  phase: string;
  /** The part of the phase that is done, from 0 to 0.99. Absent where it is not known. */
  done?: number;
  /** The time until the end of the phase, at the rate of the last minute. Seconds; absent until the rate is known. */
  secondsLeft?: number;
  /**
   * The phase ends when these transactions have ended; `pid` is the process id of PostgreSQL that runs one of them.
   * PostgreSQL lists them as the phase begins, and counts a short read of that moment until its turn comes.
   */
  waitsFor?: { transactions: number; pid?: number };
}

/**
 * How history went: a failover lost changes that the feed has delivered, and what is below them is valid; or all of it
 * is void, because the database was restored, or its log was compacted before the feed could read it.
 */
export type Rewind = 'failover' | 'void';

/** Reads objects: the newest state that is committed when the read begins, or a newer one. */
export interface ObjectReader {
  get(resource: GroupResource, key: ObjectKey, readBudget?: ReadBudget): Promise<StoredObject | undefined>;
  page(resource: GroupResource, query: PageQuery): Promise<ObjectPage>;
  chunk(resource: GroupResource, query: ChunkQuery): Promise<ObjectChunk>;
  stream(resource: GroupResource, query: StreamQuery): Promise<ObjectStream>;
}

/**
 * Keeps the objects of all models, numbers every change with one global, strictly increasing revision in commit order,
 * and reports every change. It hides tables and database errors from its callers: it throws StorageError.
 */
export interface Store extends ObjectReader {
  /** The change feed: the writes of this process and of all others. */
  readonly changes: ChangeFeed;
  /** For requests that only read: a standby may answer them. What is part of a write reads by the store itself. */
  readonly reads: ObjectReader;
  readonly audit: AuditLog;
  readonly quotas: Quotas;
  /**
   * Resolves when history that the feed has delivered is gone, while the store runs: everything derived from the feed
   * must be discarded. The store delivers nothing more; close it, and open another.
   */
  readonly rewound: Promise<Rewind>;

  /**
   * Creates the table of a model, or adapts its indexes; idempotent, and safe from several replicas at once. A change
   * of indexes waits for long transactions that read the objects, such as a backup. @throws StorageError TableInUse
   * after `lockTimeoutMs` (default 10 000); nothing is changed then
   */
  ensureModel(model: StoredModel, lockTimeoutMs?: number): Promise<void>;
  /**
   * Removes a model with all its objects, at once and without events; idempotent. Its disk space may be freed later.
   * With `ifEmpty`, returns false and removes nothing if the model has objects. Default: false.
   */
  dropModel(resource: GroupResource, options?: { ifEmpty?: boolean }): Promise<boolean>;
  /** The state of every declared index; empty for a model without indexes. */
  indexStates(resource: GroupResource): Promise<IndexState[]>;

  /**
   * An object as the change feed delivered it last, from memory; undefined if it is not kept, as most are not. It may be
   * outdated, so it serves only to compute a write from.
   */
  findRecent(resource: GroupResource, key: ObjectKey): Promise<StoredObject | undefined>;
  write(write: Write, options?: StoreWriteOptions): Promise<StoredObject>;
  /**
   * Stores an idempotency key whose request changed nothing, with the object that it found. StorageError
   * IdempotencyKeyUsed.
   */
  rememberUnchanged(idempotencyKey: IdempotencyKey, object: StoredObject): Promise<void>;
  /** The outcome of an earlier request under this idempotency key, if any. */
  findRememberedWrite(idempotencyKey: IdempotencyKey, readBudget?: ReadBudget): Promise<RememberedWrite | undefined>;

  /**
   * Removes old history and expired idempotency keys; returns when one round is done, at once if another replica is
   * compacting, and soon after `signal` aborts.
   */
  compact(limits: CompactionLimits, signal?: AbortSignal): Promise<void>;
  /**
   * Runs `work` while no other replica runs work under the same name; `signal` ends the wait. `held` aborts when
   * `signal` does, and when the lock is lost with its connection: `work` must stop then, because another replica may
   * start.
   */
  runExclusively<T>(name: string, work: (held: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Resolves if the database answers. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

export interface CompactionLimits {
  /** History younger than this is kept. Milliseconds. */
  minAgeMs: number;
  /** History is cut to this size, whatever its age. Bytes. */
  maxSizeBytes: number;
  /** How long idempotency keys are kept. Milliseconds. */
  idempotencyKeyAgeMs: number;
}
