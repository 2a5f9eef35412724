import {
  hasTypedClients,
  type ApiObject,
  type GroupResource,
  type JsonObject,
  type Model,
  type ModelVersion,
  type ObjectKey,
  type ScaleSubresource,
  type Selector,
  type Sort,
  type IndexDefinition,
  type StatusError,
} from '#pkg/apimachinery/index';
import type { ChunkPosition, IdempotencyKey, ReadBudget, StoredObject } from '#pkg/storage/index';
import type { JsonApiObject } from './strategy.ts';
import type { WriteContext } from './write-context.ts';

/** An object's JSON in the form of one version, in two parts: `withManagedFields` puts them together. */
export interface ObjectText {
  /** With resourceVersion, and without managed fields. */
  text: string;
  /** metadata.managedFields; '' for none. */
  managed: string;
}

/** An object in the form of one version. */
export interface Representation extends ObjectKey, ObjectText {
  revision: number;
  /** It is the outcome of an earlier request under the same Idempotency-Key. */
  isReplayed?: true;
}

/** Conditions on the stored object. A failed one is a StatusError 409, or 412 for `ifMatch`. */
export interface Preconditions {
  resourceVersion?: string;
  uid?: string;
  /** The object has one of these versions. */
  ifMatch?: readonly string[];
}

export interface UpdateRequest {
  key: ObjectKey;
  subresource: '' | 'status';
  /** Set if the request is one of `/scale`. */
  scale?: ScaleSubresource;
  /** The transform applies a configuration, and computes managedFields. */
  isApplied?: boolean;
  /** The configuration has a null. */
  appliesNull?: boolean;
  preconditions: Preconditions;
  /**
   * Computes the desired object from the current one (a copy, in the served version's form, with resourceVersion).
   * Called again after a conflict. A resourceVersion in the result is a precondition. It may take its time, if it lets
   * other requests run meanwhile.
   */
  transform(current: ApiObject & JsonObject): JsonObject | Promise<JsonObject>;
}

/** A configuration to apply: the fields that its manager wants, and no others. */
export interface ApplyRequest {
  key: ObjectKey;
  subresource: '' | 'status';
  /** Set if `config` is a Scale. */
  scale?: ScaleSubresource;
  preconditions: Preconditions;
  force: boolean;
  config: JsonApiObject;
  /**
   * Checks the resulting object (of `/scale`: the resulting Scale) before it is written, `current` being the stored one.
   * May be called several times.
   */
  check: (object: JsonApiObject, current: JsonApiObject | undefined) => void;
  /** Resolves if the user may create the object, which does not exist. Absent: the object must exist. */
  authorizeCreate?: () => Promise<void>;
}

export interface DeleteRequest {
  key: ObjectKey;
  preconditions: Preconditions;
  propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
  /** Does the request still select the current object? If not, it counts as not found. Default: yes. */
  isStillSelected?: (object: ApiObject, stored: StoredObject) => boolean;
}

/** The object is deleted, or waits for its finalizers. */
export type DeleteOutcome =
  { deleted: true; uid: string; object: Representation } | { deleted: false; object: Representation };

/** The outcome of the first request under an idempotency key. */
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
  /** Must admit large reads. */
  readBudget?: ReadBudget;
  signal: AbortSignal;
}

/** Reads of one version of one model. Every failure is a StatusError. */
export interface ResourceReader {
  get(key: ObjectKey, readBudget?: ReadBudget): Promise<Representation>;
  page(list: ListRequest & { page: number; size: number; exactTotal: boolean }): Promise<RepresentationPage>;
  chunk(list: ListRequest & { limit: number; after?: ChunkPosition }): Promise<RepresentationChunk>;
  stream(list: ListRequest & { order: 'sort' | 'revision' }): Promise<RepresentationStream>;
  /** May this revision, which is not in the future, have been lost in a failover? */
  isLost(revision: number): Promise<boolean>;
}

/** REST semantics of one version of one model. Every failure is a StatusError. */
export interface ResourceStorage extends ResourceReader {
  /** `object` is the decoded body; its apiVersion, kind and namespace already agree with the URL. */
  create(namespace: string, object: JsonObject, context: WriteContext): Promise<Representation>;
  update(request: UpdateRequest, context: WriteContext): Promise<Representation>;
  /** Applies a configuration for `context.fieldManager`. Creates an object that does not exist. */
  apply(request: ApplyRequest, context: WriteContext): Promise<{ isCreated: boolean; object: Representation }>;
  delete(request: DeleteRequest, context: WriteContext): Promise<DeleteOutcome>;
  /**
   * Deletes the objects that the selectors match, one by one while the caller iterates the result, which holds those
   * deleted or marked.
   */
  deleteCollection(
    list: ListRequest & Pick<DeleteRequest, 'propagationPolicy'>,
    context: WriteContext,
  ): Promise<RepresentationStream>;
  /**
   * The outcome of the first request with this idempotency key; undefined if there is none. StatusError 422 if its body
   * was different, 409 while it is in flight.
   */
  findRememberedWrite(idempotencyKey: IdempotencyKey, readBudget?: ReadBudget): Promise<RememberedOutcome | undefined>;
  watch(request: WatchRequest): Promise<WatchStream>;
}

/**
 * `objects` arrive a few at a time, with yields to the event loop in between. They may be iterated once, and must be
 * iterated or closed.
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
  /** Every later change; 410 if the revision is no longer kept, 504 if it is still in the future after 3 s. */
  after: number;
  /** Receives the changes in order; runs synchronously and must not throw. */
  sink: WatchSink;
  /**
   * Must admit large reads of history. Replayed history counts, too, until the watch is live; the caller settles then.
   */
  readBudget?: ReadBudget;
  /** Aborts the start: `watch` reads the history before it resolves, and only afterwards is there a stream to stop. */
  signal?: AbortSignal;
}

/** Receives the events of one watcher. Watchers with the same selection and format share the encoded events. */
export interface WatchSink {
  /** `object` is created at most once per version and change. */
  event(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: SharedRepresentation): void;
  /**
   * Resolves when the client has read the given events, or never will. Awaited between pieces of history, which would
   * otherwise arrive all at once.
   */
  drained?(): Promise<void>;
  /** The model was removed or its definition changed: the watch is over. */
  end(reason: string): void;
  /** An event cannot be read, opened or converted: the watch is over, before that event, and the client is told why. */
  fail(error: StatusError): void;
}

/** One event's object, shared by its watchers. `encoded` encodes it once per wire format for all of them. */
export interface SharedRepresentation {
  revision: number;
  /** Of the stored object, in characters. */
  length: number;
  /** Set if `text` and `encoded` may be called only once it has resolved. Starts the work at the first call. */
  prepared(): Promise<void> | undefined;
  text(): ObjectText;
  /** Calls `make` once per format and event, and caches the result with the event. */
  encoded(format: string, make: (object: ObjectText) => Buffer): Buffer;
}

export interface WatchStream {
  /** Every change up to this revision has been given to the sink. */
  readonly cursor: number;
  /** Idempotent; the sink receives nothing afterwards. */
  stop(): void;
}

/** The resource that a URL's group, version and resource name. */
export interface ServedResource {
  model: Model;
  version: ModelVersion;
  resource: GroupResource;
  storage: ResourceStorage;
  /** For requests of clients that only read: a standby may answer them. */
  reads: ResourceReader;
  /** Built-in and declared indexes: selectors and sort may name them. */
  indexes: readonly IndexDefinition[];
  /** Is its definition being deleted? If so, creates are rejected. */
  terminating: boolean;
}

/** One registered model, for discovery and documents. */
export interface RegisteredModel {
  model: Model;
  terminating: boolean;
  /** Is the model declared by a definition, not built in? */
  fromDefinition: boolean;
  /** The supported verbs. Default: all. */
  verbs?: readonly string[];
}

/** The models that this server currently serves. */
export interface ModelRegistry {
  /** Undefined when no model, or no served version, has this name. Served from memory. */
  find(group: string, version: string, resource: string): ServedResource | undefined;
  /** Like `find`, after reading the models that other replicas registered. */
  findNewest(group: string, version: string, resource: string): Promise<ServedResource | undefined>;
  models(): readonly RegisteredModel[];
  /** Increases with every change of `models()`. Data derived from them may be cached under this number. */
  readonly generation: number;
  /** Does the namespace exist? Reads other replicas' changes before it returns false. */
  hasNamespace(name: string): Promise<boolean>;
}

/**
 * Whether a request needs its namespace to exist. As in Kubernetes, lists and watches of built-in kinds find nothing in a
 * missing one: helm looks there for a release before it creates the namespace.
 */
export function needsNamespace(model: Model, verb: string): boolean {
  return !hasTypedClients(model) || (verb !== 'list' && verb !== 'watch');
}
