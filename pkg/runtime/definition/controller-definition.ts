import type { AnyObject, Client, Fence, ResourceType, Selection } from '#pkg/apimachinery/index';
import type { IndexFunction } from '../cache/indexer.ts';
import type { Lister } from '../cache/lister.ts';
import type { EventHandler } from '../handler/event-handler.ts';
import type { Log } from '../log.ts';
import type { Predicate } from '../predicate/predicate.ts';
import type { EventSink } from '../recorder/event-sink.ts';
import type { ReconcileRequest, ReconcileResult } from '../reconcile/reconciler.ts';
import type { Source } from '../source/source.ts';
import type { RateLimiter } from '../workqueue/rate-limiter.ts';

/** What a reconcile has at hand. */
export interface ReconcileContext {
  /**
   * Reads what the controller watches from its caches, the rest from the API; its writes are fenced where leaders are
   * elected.
   */
  client: Client;
  /** Where leaders are elected, the claim that goes with each write of `client`: for what writes as somebody else. */
  fence?: Fence;
  /** The cache of a type that the controller watches whole. @throws Error for any other type. */
  lister: <T extends AnyObject>(type: ResourceType<T>) => Lister<T>;
  /** Tells people what happened to an object, as core/v1 Events. */
  events: EventSink;
  log: Log;
  /** Fires when the reconcile took too long or the controller stops. */
  signal: AbortSignal;
}

export type ReconcileFunction = (request: ReconcileRequest, context: ReconcileContext) => Promise<ReconcileResult>;

/** One type a controller watches, and what its events lead to. */
export interface WatchDefinition {
  type: ResourceType;
  selection: Selection;
  handler: EventHandler;
  predicates: readonly Predicate[];
  /** What the handler makes of an object never changes while the object is there; see `ControllerTuning.resume`. */
  isMappingFixed?: boolean;
}

export interface CacheIndex {
  type: ResourceType;
  name: string;
  valuesOf: IndexFunction<AnyObject>;
}

export interface ControllerTuning {
  /** Objects that are worked on at once. Default 1. */
  concurrency?: number;
  /** For one reconcile. Milliseconds, default 60 000. */
  timeoutMs?: number;
  /** Makes the back-off of the queue. Default: by key from 5 ms to 1 000 s, and 100 retries a second over all. */
  limiter?: () => RateLimiter;
  /**
   * Keeps a stored position, so that a restart looks only at what changed since, deletions included, and at what had
   * not gone well. Without it, a restart looks at everything and learns of no deletion that it missed. So it is all the
   * same where the position is older than the history that is kept (10 minutes at least), or holds for other watches.
   * It looks at everything, and learns of deletions, where the `version` is another, where more than 500 objects wait
   * for their `requeueAfterMs`, or where an object changed whose handler looks at more than its name: who was concerned
   * before nobody can tell, unless the watch has `isMappingFixed`.
   */
  resume?: ResumeOptions;
}

export interface ResumeOptions {
  /**
   * Any text; with another one everything is looked at: to be changed when the controller's code would do otherwise
   * with objects it has looked at.
   */
  version?: string;
  /** Between two writes of the position, at least. Milliseconds, default 5 000. */
  intervalMs?: number;
}

/** What a controller gets for one term, in which its process is the leader. */
export interface ControllerTerm {
  /** Requests from elsewhere than the caches. */
  sources: readonly Source[];
  reconcile: ReconcileFunction;
}

/** A controller as data, before any manager runs it; made by `controllerFor`. */
export interface ControllerDefinition {
  readonly name: string;
  readonly watches: readonly WatchDefinition[];
  readonly indexes: readonly CacheIndex[];
  readonly tuning: ControllerTuning;
  /** Called at the beginning of each turn: what it keeps in memory is of this turn alone. */
  readonly begin: () => ControllerTerm;
}
