/**
 * What a fault run records, and all that its checker sees. Plain data, so that a run can be kept as JSON and checked
 * again.
 *
 * Everything is what really happened, as the client saw it: nothing is repaired, sorted, merged or left out by whoever
 * records. Where the harness is in doubt what a request did, the outcome is `unknown`; that is never a fault of the
 * system, a wrong certainty is.
 */
export interface History {
  /** Shown in messages, and enough to run it again. */
  seed: string;
  replicas: string[];
  models: ModelRecord[];
  /** Every life of every model above, in any order. */
  incarnations: IncarnationRecord[];
  /** When models were dropped and made, indexes added. */
  modelChanges: ModelChangeRecord[];
  /** Every request of every client, refused and failed ones included. Iterated more than once. Any order. */
  operations: Iterable<Operation>;
  watchers: WatcherRecord[];
  /** The whole log from the making of the first model to the end of the run. Iterated more than once. Any order. */
  log: Iterable<LogRow>;
  /** Revisions that SQL showed once and no longer at the end, though nothing took them away: committed and lost. */
  lostRevisions?: number[];
  /**
   * `platform.meta.compacted` as read now and then by SQL, in the order of time; the last one after the last request
   * and the last 410.
   */
  compactions: CompactionSample[];
  /** What is there at the end, when no request is under way: by SQL, and by a list through each replica. */
  finalStates: FinalState[];
  /** For messages only: "while `kill -9 of replica b`, 12.3 s to 14.0 s". */
  faults: FaultRecord[];
}

/**
 * A moment, in milliseconds with fraction, on one clock for all of a history: `Number(process.hrtime.bigint()) / 1e6`.
 * It is the same in every process and thread of a machine, and nobody can set it. Never `Date.now()`, which a fault may
 * step.
 */
export type Instant = number;

/**
 * A key of one value is that value; absent is null; of a multi-value index a set. ASCII strings; dates as milliseconds.
 */
export type FieldValue = string | number | boolean | null | (string | number)[];

/**
 * Declared index by name, exactly as the object's body has the field; every index that the model has at any time of the
 * run is named.
 */
export type Fields = Record<string, FieldValue>;

export interface ModelRecord {
  /** `<plural>.<group>`, as everywhere in a history. */
  name: string;
  namespaced: boolean;
  /** Names of the unique indexes (they exist from the model's making on; each holds strings or numbers). */
  unique: string[];
}

/** A row that `platform.models` once had. */
export interface IncarnationRecord {
  /** `platform.models.id`, which is `change_log.model`. */
  id: number;
  model: string;
  /** `platform.models.replaces`: history up to here is an earlier life's; 0 for the first. */
  replaces: number;
  /** `platform.dropped_models.rev` after it was dropped; absent for one that lives at the end. */
  dropped?: number;
}

/**
 * A change of a definition by the harness. A drop is in force from `requested` until the `completed` of the next `make`
 * of that model, so long requests may be 404 and the server deletes its objects; an absent `completed` means "not
 * known".
 */
export interface ModelChangeRecord {
  type: 'make' | 'drop' | 'index';
  model: string;
  /** Before the request was sent. */
  requested: Instant;
  /** For a drop: when the definition was seen to be gone; for a make: when both replicas served it. */
  completed?: Instant;
  /** Of an `index`: its name. */
  index?: string;
}

/** What matters of a body. An object of the harness has no finalizers, so a delete removes it at once. */
export interface ObjectState {
  uid: string;
  /**
   * Names the write that made this body (a create, update or patch): a field of the spec that no index and no other
   * write uses.
   */
  marker: string;
  labels: Record<string, string>;
  fields: Fields;
}

/** An object as a client was told it. */
export interface ObservedObject extends ObjectState {
  /** '' if cluster-scoped. */
  namespace: string;
  name: string;
  /** `metadata.resourceVersion`. */
  revision: number;
}

/** All clauses hold. None selects everything. `k=v` is `in` with one value. */
export interface SelectorRecord {
  labels: LabelClause[];
  fields: FieldClause[];
}

/** `notIn` is true where the label is absent, too. */
export type LabelClause =
  { key: string; operator: 'in' | 'notIn'; values: string[] } | { key: string; operator: 'exists' | 'absent' };

/**
 * `field` is an index by its name, or `metadata.name`, `metadata.namespace`. On a multi-value index `in` is "contains
 * any".
 */
export type FieldClause =
  | { field: string; operator: 'in' | 'notIn'; values: (string | number | boolean)[] }
  | { field: string; operator: '>' | '>=' | '<' | '<='; value: string | number }
  | { field: string; operator: 'prefix'; value: string }
  | { field: string; operator: 'exists' | 'absent' };

/** Names one operation. */
export interface OperationId {
  client: number;
  seq: number;
}

interface OperationBase extends OperationId {
  /**
   * `seq` grows with each request of a client; a client has one request under way at a time. A repetition of a request
   * is an operation of its own.
   */
  replica: string;
  /** Before the first byte is written to the socket (before the connection is made, if one is). */
  invoked: Instant;
  /** After the last byte of the answer was read; of an unknown outcome, when it was given up. */
  completed: Instant;
  model: string;
  /** '' for a cluster-scoped model; for a list, all namespaces. */
  namespace: string;
  /** The harness means it to be refused as malformed (400, 422, ...). Otherwise such an answer is a fault. */
  provoked?: boolean;
}

/**
 * `ok`: a complete 2xx answer. `refused`: a complete 4xx answer: the server says that nothing was done. `unknown`:
 * anything else: a 5xx, a connection that could not be made or broke, an answer cut short, a time-out of the client.
 */
export type Outcome<Answer> = ({ type: 'ok' } & Answer) | Refusal | { type: 'unknown'; error: string; status?: number };

export interface Refusal {
  type: 'refused';
  status: number;
  /** Of the Status: `Conflict`, `AlreadyExists`, `NotFound`, ... */
  reason: string;
  message?: string;
  /** The index of a cause `FieldValueDuplicate`: a unique value is taken. */
  duplicate?: string;
  /** The cause `ResourceVersionTooLarge` was there. */
  tooLarge?: boolean;
  /** There was a `Retry-After`: so says a 409 for an Idempotency-Key under way. */
  retryAfter?: boolean;
}

/**
 * A body as it was sent whole. `marker` is used by this write alone, and by its repetitions under one Idempotency-Key.
 */
export interface SentObject {
  marker: string;
  labels: Record<string, string>;
  fields: Fields;
}

/** A merge patch: what is not named stays, null takes away. It always sets the marker. */
export interface SentPatch {
  marker: string;
  labels?: Record<string, string | null>;
  fields?: Fields;
}

/** What a write demands of the object it meets. */
export interface Precondition {
  /** A revision: resourceVersion in the body, in `preconditions`, or If-Match. */
  expected?: number;
  expectedUid?: string;
  /** `expected` was sent as If-Match: it fails with 412, not 409. */
  ifMatch?: boolean;
}

interface Claim {
  /** Never used for two different requests. */
  idempotencyKey?: string;
}

/** The object as answered. `replayed`: the answer had `Idempotent-Replayed: true`. */
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
  /** The items of the answer; `revision` is their resourceVersion, that of the deletion. */
  outcome: Outcome<{ deleted: { namespace: string; name: string; uid: string; revision: number }[] }>;
}

export interface GetOperation extends OperationBase {
  verb: 'get';
  name: string;
  /** The parameter `resourceVersion`, if sent: not older than this. */
  atLeast?: number;
  outcome: Outcome<{ object: ObservedObject }>;
}

/**
 * `all`: neither page nor limit. Of a chunk `continued` names the operation whose token was sent; absent for the first.
 */
export type Paging =
  | { type: 'all' }
  | { type: 'page'; page: number; size: number }
  | { type: 'chunk'; limit: number; continued?: OperationId };

export interface ListOperation extends OperationBase {
  verb: 'list';
  selector: SelectorRecord;
  /** In the order of priority; empty is by namespace and name. */
  sort: { field: string; descending: boolean }[];
  paging: Paging;
  /** The parameter `resourceVersion`, if sent. */
  atLeast?: number;
  /** `resourceVersionMatch=Exact` was sent with it. */
  exact?: boolean;
  outcome: Outcome<ListAnswer>;
}

export interface ListAnswer {
  /** `metadata.resourceVersion`. */
  revision: number;
  /**
   * In the order of the answer. To save memory `labels` and `fields` may be empty objects; the marker and the revision
   * tell the body.
   */
  items: ObservedObject[];
  /** Page fields, where the answer had them. */
  total?: number;
  totalIsLowerBound?: boolean;
  hasNext?: boolean;
  /** `metadata.continue` was there: more is to come. */
  continues?: boolean;
  /** `metadata.remainingItemCount`. */
  remaining?: number;
}

export type WriteOperation = CreateOperation | UpdateOperation | PatchOperation;
export type Operation = WriteOperation | DeleteOperation | DeleteCollectionOperation | GetOperation | ListOperation;

/** One watcher and all the streams it opened, one after the other. */
export interface WatcherRecord {
  id: number;
  model: string;
  /** '' for all. */
  namespace: string;
  selector: SelectorRecord;
  /** In the order in which they were opened, failed attempts included. */
  streams: WatchStreamRecord[];
}

export interface WatchStreamRecord {
  replica: string;
  /** Before the first byte of the request. */
  opened: Instant;
  /**
   * `revision`: resourceVersion was sent. It is the revision of the `list` made for it, or else exactly as far as the
   * watcher got: its last event or bookmark, or where the stream before this one began. `objects`:
   * `sendInitialEvents=true` with bookmarks: what exists comes as ADDED, in any order, and a bookmark with `initialEnd`
   * tells the revision of that snapshot.
   */
  start: { type: 'revision'; revision: number; list?: OperationId } | { type: 'objects' };
  /** As they came. Iterated more than once. */
  events: Iterable<WatchEventRecord>;
  ended: StreamEnd;
}

/**
 * `live`: still open at the end of the run, which is when everything had time to arrive; the checker then demands all
 * of it. `closed`: the server ended the answer properly. `broken`: the connection, or no answer. `cancelled`: by the
 * harness. `expired`: 410, as an answer or as an ERROR event. `failed`: another ERROR event. `refused`: an answer other
 * than 200 and 410, 5xx included.
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
 * A row of `platform.change_log`. All rows are recorded, also those of built-in models and definitions (of them `old`
 * and `new` may be null). Follow the log with `WHERE rev > cursor ORDER BY rev`, faster than compaction, and at the end
 * read all that is there once more: a row that only this second reading finds is recorded then, with its late
 * `recorded`, for it became visible after a higher revision. A row seen twice is recorded once, unless its content
 * differs; then twice.
 */
export interface LogRow {
  revision: number;
  /** `change_log.model`. */
  incarnation: number;
  /** Create, update, delete, or a marker that is no object's change. */
  type: 'C' | 'U' | 'D' | 'M';
  namespace: string;
  name: string;
  /** `prev`. */
  previous: number | null;
  old: ObjectState | null;
  /** Of a delete the final state. */
  new: ObjectState | null;
  batch: string | null;
  /** When the answer that showed it was complete. */
  recorded: Instant;
}

export interface CompactionSample {
  at: Instant;
  compacted: number;
}

export interface FinalState {
  /** `sql`, or the replica that was asked for a list. */
  source: string;
  model: string;
  /** The list's resourceVersion; for SQL `max(rev)` of the log in the same statement. */
  revision: number;
  /** Of a list `labels` and `fields` may be empty, as in `ListAnswer`. */
  objects: ObservedObject[];
}

export interface FaultRecord {
  name: string;
  started: Instant;
  ended?: Instant;
}
