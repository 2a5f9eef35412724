import type {
  ApiObject,
  GroupResource,
  JsonObject,
  Model,
  ModelVersion,
  ObjectKey,
  Selector,
  Sort,
  IndexDefinition,
} from '#pkg/apimachinery/index';
import type { ChunkPosition, IdempotencyKey, ReadRoom, StoredObject } from '#pkg/storage/index';
import type { WriteContext } from './write-context.ts';

/** An object as a client of one version reads it: `text` is its JSON, resourceVersion included. */
export interface Representation extends ObjectKey {
  revision: number;
  text: string;
  /** It is the outcome of an earlier request under the same Idempotency-Key. */
  isReplayed?: true;
}

/** What must hold of the stored object, else 409; `ifMatch` else 412. */
export interface Preconditions {
  resourceVersion?: string;
  uid?: string;
  ifMatch?: string;
}

export interface UpdateRequest {
  key: ObjectKey;
  subresource: '' | 'status';
  preconditions: Preconditions;
  /**
   * The wanted object, computed from the present one (a copy, in the served version's form, with resourceVersion).
   * Called again when another write came between; a resourceVersion inside the answer is a precondition.
   */
  transform(current: ApiObject & JsonObject): JsonObject;
}

export interface DeleteRequest {
  key: ObjectKey;
  preconditions: Preconditions;
  propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
  /** Is the object, as it is now, still meant? Otherwise it counts as not found. Default: it is. */
  isMeant?: (object: ApiObject, stored: StoredObject) => boolean;
}

/** A deletion is done, or waits for finalizers. */
export type DeleteOutcome =
  { deleted: true; uid: string; object: Representation } | { deleted: false; object: Representation };

/** What the first request under an idempotency key led to. */
export interface RememberedOutcome {
  type: 'create' | 'update' | 'delete';
  uid: string;
  object: Representation;
}

export interface ListRequest {
  /** '' for a cluster-scoped resource, absent for all namespaces. */
  namespace?: string;
  selector: Selector;
  sort: Sort;
  /** Asked before much is read. */
  room?: ReadRoom;
  signal: AbortSignal;
}

/** REST semantics of one version of one model. Every failure is a StatusError. */
export interface ResourceStorage {
  get(key: ObjectKey, room?: ReadRoom): Promise<Representation>;
  /** `object` is the decoded body: its apiVersion, kind and namespace agree with the URL already. */
  create(namespace: string, object: JsonObject, context: WriteContext): Promise<Representation>;
  update(request: UpdateRequest, context: WriteContext): Promise<Representation>;
  delete(request: DeleteRequest, context: WriteContext): Promise<DeleteOutcome>;
  /** Deletes what the selectors match, object by object, as the answer's objects are taken: those deleted or marked. */
  deleteCollection(
    list: ListRequest & Pick<DeleteRequest, 'propagationPolicy'>,
    context: WriteContext,
  ): Promise<RepresentationStream>;
  /**
   * The outcome of the request that used this idempotency key before; undefined if none did. 422 if its body was
   * another, 409 while it is in flight.
   */
  findRememberedWrite(idempotencyKey: IdempotencyKey, room?: ReadRoom): Promise<RememberedOutcome | undefined>;

  page(list: ListRequest & { page: number; size: number; exactTotal: boolean }): Promise<RepresentationPage>;
  chunk(list: ListRequest & { limit: number; after?: ChunkPosition }): Promise<RepresentationChunk>;
  stream(list: ListRequest & { order: 'sort' | 'revision' }): Promise<RepresentationStream>;
  watch(request: WatchRequest): Promise<WatchStream>;
}

/**
 * `objects` come a few at a time, with turns of the event loop between; they may be iterated once, and must be iterated
 * or closed.
 */
export interface RepresentationStream {
  revision: number;
  objects: AsyncIterable<Representation[]>;
  close(): Promise<void>;
}

export interface RepresentationPage extends RepresentationStream {
  total: number;
  totalIsLowerBound: boolean;
  hasNext: boolean;
}

export interface RepresentationChunk extends RepresentationStream {
  next?: ChunkPosition;
  remaining?: number;
}

export interface WatchRequest {
  namespace?: string;
  selector: Selector;
  /** Every later change; 410 if it is no longer kept, 504 if it is in the future for more than 3 s. */
  after: number;
  /** Receives the changes in order; runs synchronously and must not throw. */
  sink: WatchSink;
  /**
   * Asked before much of the history is read; what is told of it counts, too, until the watch is live. The caller
   * settles then.
   */
  room?: ReadRoom;
  /** Gives the start up: history is read before `watch` resolves, and only then is there a stream to stop. */
  signal?: AbortSignal;
}

/** How one watcher is told; the encodings of an event are shared by all watchers that match it alike. */
export interface WatchSink {
  /** `object` is made at most once per version and change: `text()` is its JSON with resourceVersion. */
  event(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: SharedRepresentation): void;
  /**
   * Resolves when what was given has been taken, or never will be; asked between pieces of history, which would
   * otherwise come all at once.
   */
  drained?(): Promise<void>;
  /** The model was removed or its definition changed: the watch is over. */
  end(reason: string): void;
}

/** One event's object, shared by its watchers; `encoded` lets a wire format be made once for all of them. */
export interface SharedRepresentation {
  revision: number;
  text(): string;
  /** Makes `make(text)` once per format and event, and keeps it with the event. */
  encoded(format: string, make: (text: string) => Buffer): Buffer;
}

export interface WatchStream {
  /** Everything up to here has been given to the sink. */
  readonly cursor: number;
  /** Idempotent; the sink hears nothing afterwards. */
  stop(): void;
}

/** What a URL's group, version and resource lead to. */
export interface ServedResource {
  model: Model;
  version: ModelVersion;
  resource: GroupResource;
  storage: ResourceStorage;
  /** Built-in indexes and declared ones: what selectors and sort may name. */
  indexes: readonly IndexDefinition[];
  /** Is its definition being deleted? Creates are refused then. */
  terminating: boolean;
}

/** One registered model, for discovery and documents. */
export interface RegisteredModel {
  model: Model;
  terminating: boolean;
  /** Declared by a definition, not built in. */
  fromDefinition: boolean;
  /** All that can be done with it, where that is not everything. */
  verbs?: readonly string[];
}

/** The models this server serves now. */
export interface ModelRegistry {
  /** Undefined when no model, or no served version, has this name. Served from memory. */
  find(group: string, version: string, resource: string): ServedResource | undefined;
  /** The same, after reading what other replicas registered. */
  findNewest(group: string, version: string, resource: string): Promise<ServedResource | undefined>;
  models(): readonly RegisteredModel[];
  /** Grows with every change of `models()`; what is derived from them may be kept under it. */
  readonly generation: number;
  /** Does the namespace exist? Reads what other replicas did before it says no. */
  hasNamespace(name: string): Promise<boolean>;
}
