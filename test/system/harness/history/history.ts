/**
 * The record of a fault run, and the only input of its checker. Plain data, so that a run can be saved as JSON and
 * checked again.
 *
 * Everything is recorded as the client saw it: recorders repair, sort, merge and omit nothing. If the harness cannot
 * know the effect of a request, the outcome is `unknown`; that is never a fault of the system, a wrong certainty is.
 */
export interface History {
  /** Shown in messages; enough to repeat the run. */
  seed: string;
  replicas: string[];
  models: ModelRecord[];
  /** Every life of every model above, in any order. */
  incarnations: IncarnationRecord[];
  /** Drops and creations of models, and changes of indexes. */
  modelChanges: ModelChangeRecord[];
  /** All requests of all clients, including refused and failed ones. Iterated more than once. Any order. */
  operations: Iterable<Operation>;
  watchers: WatcherRecord[];
  /** The whole log from the creation of the first model to the end of the run. Iterated more than once. Any order. */
  log: Iterable<LogRow>;
  /** Revisions that SQL returned once but not at the end, although they were not compacted: committed and lost. */
  lostRevisions?: number[];
  /**
   * Samples of `platform.meta.compacted` by SQL, in order of time; the last one after the last request and the last
   * 410.
   */
  compactions: CompactionSample[];
  /** The final objects, when no request is running: by SQL, and by a list through each replica. */
  finalStates: FinalState[];
  /** For messages only: "while `kill -9 of replica b`, 12.3 s to 14.0 s". */
  faults: FaultRecord[];
}

/**
 * A time in milliseconds with fraction, on one clock for all of a history: `Number(process.hrtime.bigint()) / 1e6`. It
 * is the same in all processes and threads of a machine, and cannot be set. Never use `Date.now()`, which a fault may
 * change.
 */
export type Instant = number;

/**
 * A single-value key is that value; absent is null; a multi-value index is a set. ASCII strings; dates in milliseconds.
 */
export type FieldValue = string | number | boolean | null | (string | number)[];

/**
 * Declared indexes by name, with the exact values of the object's fields; includes every index that the model has at
 * any time of the run.
 */
export type Fields = Record<string, FieldValue>;

export interface ModelRecord {
  /** `<plural>.<group>`, as everywhere in a history. */
  name: string;
  namespaced: boolean;
  /** Names of the unique indexes (they exist as long as the model; each holds strings or numbers). */
  unique: string[];
}

/** A row that `platform.models` had at some time. */
export interface IncarnationRecord {
  /** `platform.models.id`, which is `change_log.model`. */
  id: number;
  model: string;
  /** `platform.models.replaces`: history up to here is an earlier life's; 0 for the first. */
  replaces: number;
  /** `platform.dropped_models.rev` after the drop; absent for a model that exists at the end. */
  dropped?: number;
}

/**
 * A change of a definition by the harness. A drop is in effect from `requested` until the `completed` of the next
 * `make` of that model: meanwhile requests may be 404 and the server deletes its objects. An absent `completed` means
 * "unknown".
 */
export interface ModelChangeRecord {
  type: 'make' | 'drop' | 'index';
  model: string;
  /** Before the request was sent. */
  requested: Instant;
  /** For a drop: when the definition was gone; for a make: when both replicas served it. */
  completed?: Instant;
  /** The name of the index, for an `index`. */
  index?: string;
}

/** The relevant parts of a body. Objects of the harness have no finalizers, so a delete removes them at once. */
export interface ObjectState {
  uid: string;
  /**
   * Identifies the write that made this body (a create, update or patch): a spec field that no index and no other write
   * uses.
   */
  marker: string;
  labels: Record<string, string>;
  fields: Fields;
}

/** An object as a client received it. */
export interface ObservedObject extends ObjectState {
  /** '' if cluster-scoped. */
  namespace: string;
  name: string;
  /** `metadata.resourceVersion`. */
  revision: number;
}

/** All clauses must hold; without any it selects everything. `k=v` is `in` with one value. */
export interface SelectorRecord {
  labels: LabelClause[];
  fields: FieldClause[];
}

/** `notIn` is also true if the label is absent. */
export type LabelClause =
  { key: string; operator: 'in' | 'notIn'; values: string[] } | { key: string; operator: 'exists' | 'absent' };

/**
 * `field` is the name of an index, or `metadata.name`, `metadata.namespace`. On a multi-value index `in` means
 * "contains any".
 */
export type FieldClause =
  | { field: string; operator: 'in' | 'notIn'; values: (string | number | boolean)[] }
  | { field: string; operator: '>' | '>=' | '<' | '<='; value: string | number }
  | { field: string; operator: 'prefix'; value: string }
  | { field: string; operator: 'exists' | 'absent' };

/** Identifies one operation. */
export interface OperationId {
  client: number;
  seq: number;
}

interface OperationBase extends OperationId {
  /**
   * `seq` increases with each request of a client; a client has one running request. A repeated request is a separate
   * operation.
   */
  replica: string;
  /** Before the first byte is written to the socket (and before a new connection is opened). */
  invoked: Instant;
  /** After the last byte of the response was read; for an unknown outcome, when the client gave up. */
  completed: Instant;
  model: string;
  /** '' for a cluster-scoped model; for a list, all namespaces. */
  namespace: string;
  /** The harness expects a refusal as malformed (400, 422, ...). Otherwise such a response is a fault. */
  provoked?: boolean;
}

/**
 * `ok`: a complete 2xx response. `refused`: a complete 4xx response: the server says that nothing was changed.
 * `unknown`: anything else: a 5xx, a failed or broken connection, a truncated response, a client timeout.
 */
export type Outcome<Answer> = ({ type: 'ok' } & Answer) | Refusal | { type: 'unknown'; error: string; status?: number };

export interface Refusal {
  type: 'refused';
  status: number;
  /** The Status reason: `Conflict`, `AlreadyExists`, `NotFound`, ... */
  reason: string;
  message?: string;
  /** The index in a cause `FieldValueDuplicate`: the unique value exists already. */
  duplicate?: string;
  /** The response had the cause `ResourceVersionTooLarge`. */
  tooLarge?: boolean;
  /** The response had `Retry-After`, as a 409 for a running Idempotency-Key does. */
  retryAfter?: boolean;
}

/** A complete body. Only this write, and its repetitions with the same Idempotency-Key, use `marker`. */
export interface SentObject {
  marker: string;
  labels: Record<string, string>;
  fields: Fields;
}

/** A merge patch: absent fields stay, null removes. It always sets the marker. */
export interface SentPatch {
  marker: string;
  labels?: Record<string, string | null>;
  fields?: Fields;
}

/** The preconditions of a write. */
export interface Precondition {
  /** A revision: resourceVersion in the body, in `preconditions`, or If-Match. */
  expected?: number;
  expectedUid?: string;
  /** `expected` was sent as If-Match: it fails with 412, not 409. */
  ifMatch?: boolean;
}

interface Claim {
  /** Never used for different requests. */
  idempotencyKey?: string;
}

/** The object in the response. `replayed`: the response had `Idempotent-Replayed: true`. */
export interface WrittenAnswer {
  object: ObservedObject;
  replayed?: boolean;
}

export interface CreateOperation extends OperationBase, Claim {
  verb: 'create';
  name: string;
  sent: SentObject;
  outcome: Outcome<WrittenAnswer>;
}

export interface UpdateOperation extends OperationBase, Claim, Precondition {
  verb: 'update';
  name: string;
  sent: SentObject;
  outcome: Outcome<WrittenAnswer>;
}

export interface PatchOperation extends OperationBase, Claim, Precondition {
  verb: 'patch';
  name: string;
  sent: SentPatch;
  outcome: Outcome<WrittenAnswer>;
}

export interface DeleteOperation extends OperationBase, Claim, Precondition {
  verb: 'delete';
  name: string;
  /** `details.uid` of the Status. */
  outcome: Outcome<{ uid: string; replayed?: boolean }>;
}

export interface DeleteCollectionOperation extends OperationBase {
  verb: 'deleteCollection';
  selector: SelectorRecord;
  /** The items of the response; `revision` is their resourceVersion, that of the deletion. */
  outcome: Outcome<{ deleted: { namespace: string; name: string; uid: string; revision: number }[] }>;
}

export interface GetOperation extends OperationBase {
  verb: 'get';
  name: string;
  /** The parameter `resourceVersion`, if sent: the result must not be older. */
  atLeast?: number;
  outcome: Outcome<{ object: ObservedObject }>;
}

/**
 * `all`: without page or limit. For a chunk `continued` is the operation whose token was sent; absent for the first.
 */
export type Paging =
  | { type: 'all' }
  | { type: 'page'; page: number; size: number }
  | { type: 'chunk'; limit: number; continued?: OperationId };

export interface ListOperation extends OperationBase {
  verb: 'list';
  selector: SelectorRecord;
  /** By priority; empty means by namespace and name. */
  sort: { field: string; descending: boolean }[];
  paging: Paging;
  /** The parameter `resourceVersion`, if sent. */
  atLeast?: number;
  /** Whether `resourceVersionMatch=Exact` was sent. */
  exact?: boolean;
  outcome: Outcome<ListAnswer>;
}

export interface ListAnswer {
  /** `metadata.resourceVersion`. */
  revision: number;
  /**
   * In the order of the response. To save memory `labels` and `fields` may be empty; marker and revision identify the
   * body.
   */
  items: ObservedObject[];
  /** Page fields, if the response had them. */
  total?: number;
  totalIsLowerBound?: boolean;
  hasNext?: boolean;
  /** The response had `metadata.continue`: more chunks follow. */
  continues?: boolean;
  /** `metadata.remainingItemCount`. */
  remaining?: number;
}

export type WriteOperation = CreateOperation | UpdateOperation | PatchOperation;
export type Operation = WriteOperation | DeleteOperation | DeleteCollectionOperation | GetOperation | ListOperation;

/** One watcher with all its streams, in sequence. */
export interface WatcherRecord {
  id: number;
  model: string;
  /** '' for all. */
  namespace: string;
  selector: SelectorRecord;
  /** In the order of opening, including failed attempts. */
  streams: WatchStreamRecord[];
}

export interface WatchStreamRecord {
  replica: string;
  /** Before the first byte of the request. */
  opened: Instant;
  /**
   * `revision`: with a resourceVersion. It is the revision of the `list` made for it, or exactly the watcher's
   * progress: its last event or bookmark, or the start of the previous stream. `objects`: `sendInitialEvents=true` with
   * bookmarks: existing objects come as ADDED, in any order, and a bookmark with `initialEnd` has the revision of that
   * snapshot.
   */
  start: { type: 'revision'; revision: number; list?: OperationId } | { type: 'objects' };
  /** In order of arrival. Iterated more than once. */
  events: Iterable<WatchEventRecord>;
  ended: StreamEnd;
}

/**
 * `live`: still open at the end of the run, when everything had time to arrive; the checker then requires all of it.
 * `closed`: the server ended the response properly. `broken`: the connection failed, or no response. `cancelled`: by
 * the harness. `expired`: 410, as a response or as an ERROR event. `failed`: another ERROR event. `refused`: a response
 * other than 200 and 410, including 5xx.
 */
export type StreamEnd =
  | { type: 'live' | 'closed' | 'broken' | 'cancelled'; at: Instant; error?: string }
  | {
      type: 'expired' | 'failed' | 'refused';
      at: Instant;
      status: number;
      reason: string;
      message?: string;
      tooLarge?: boolean;
    };

/** `received`: after the last byte of the event was read. */
export type WatchEventRecord =
  | { type: 'ADDED' | 'MODIFIED' | 'DELETED'; object: ObservedObject; received: Instant }
  | { type: 'BOOKMARK'; revision: number; received: Instant; initialEnd?: boolean };

/**
 * A row of `platform.change_log`. All rows are recorded, including those of built-in models and definitions (their
 * `old` and `new` may be null). Follow the log with `WHERE rev > cursor ORDER BY rev`, faster than compaction, and read
 * all that exists again at the end: a row that only this second reading finds is recorded then, with its late
 * `recorded`, because it became visible after a higher revision. A row that was seen twice is recorded once, unless its
 * content differs; then twice.
 */
export interface LogRow {
  revision: number;
  /** `change_log.model`. */
  incarnation: number;
  /** Create, update, delete, or a marker, which changes no object. */
  type: 'C' | 'U' | 'D' | 'M';
  namespace: string;
  name: string;
  /** `prev`. */
  previous: number | null;
  old: ObjectState | null;
  /** For a delete the final state. */
  new: ObjectState | null;
  batch: string | null;
  /** When the response with it was complete. */
  recorded: Instant;
}

export interface CompactionSample {
  at: Instant;
  compacted: number;
}

export interface FinalState {
  /** `sql`, or the replica of a list. */
  source: string;
  model: string;
  /** The list's resourceVersion; for SQL `max(rev)` of the log in the same statement. */
  revision: number;
  /** For a list `labels` and `fields` may be empty, as in `ListAnswer`. */
  objects: ObservedObject[];
}

export interface FaultRecord {
  name: string;
  started: Instant;
  ended?: Instant;
}
