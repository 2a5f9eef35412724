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

/** What a reconcile can use. */
export interface ReconcileContext {
  /** Reads watched types from the caches, the rest from the API; with a leader election its writes are fenced. */
  client: Client;
  /** The fence of `client`'s writes, if there is a leader election: for writes with another client. */
  fence?: Fence;
  /** The cache of a type that the controller watches without a selection. @throws Error for any other type. */
  lister: <T extends AnyObject>(type: ResourceType<T>) => Lister<T>;
  /** Reports events of an object to users, as core/v1 Events. */
  events: EventSink;
  log: Log;
  /** Fires when the reconcile times out or the controller stops. */
  signal: AbortSignal;
}

export type ReconcileFunction = (request: ReconcileRequest, context: ReconcileContext) => Promise<ReconcileResult>;

/** One watched type, and the requests that its events cause. */
export interface WatchDefinition {
  type: ResourceType;
  selection: Selection;
  handler: EventHandler;
  predicates: readonly Predicate[];
  /**
   * Whether the handler returns the same requests for an object during its whole life; see `ControllerTuning.resume`.
   */
  isMappingFixed?: boolean;
}

export interface CacheIndex {
  type: ResourceType;
  name: string;
  valuesOf: IndexFunction<AnyObject>;
}

export interface ControllerTuning {
  /** Maximum number of concurrent reconciles. Default 1. */
  concurrency?: number;
  /** Timeout of one reconcile. Milliseconds, default 60 000. */
  timeoutMs?: number;
  /**
   * Creates the queue's rate limiter. Default: back-off by key from 5 ms to 1 000 s, and 100 retries a second in total.
   */
  limiter?: () => RateLimiter;
  /**
   * Stores a position, so that a restart reconciles only what changed since, deletions included, and what had not
   * succeeded. Without a position a restart reconciles everything and misses deletions; the same happens if the
   * position is older than the kept history (at least 10 minutes) or belongs to other watches. A restart reconciles
   * everything, but does see deletions, if `version` has changed, if more than 500 objects wait for their
   * `requeueAfterMs`, or if an object changed whose handler uses more than its name: its former requests are unknown,
   * unless the watch has `isMappingFixed`.
   */
  resume?: ResumeOptions;
}

export interface ResumeOptions {
  /**
   * Any text; a different one makes a restart reconcile everything. Change it if the controller's code would treat
   * already reconciled objects differently.
   */
  version?: string;
  /** Minimum time between two writes of the position. Milliseconds, default 5 000. */
  intervalMs?: number;
}

/** What a controller gets for one term as leader. */
export interface ControllerTerm {
  /** Sources of requests other than the caches. */
  sources: readonly Source[];
  reconcile: ReconcileFunction;
}

/** A controller as data, before any manager runs it; made by `controllerFor`. */
export interface ControllerDefinition {
  readonly name: string;
  readonly watches: readonly WatchDefinition[];
  readonly indexes: readonly CacheIndex[];
  readonly tuning: ControllerTuning;
  /** Called at the start of each term: its state in memory belongs to this term only. */
  readonly begin: () => ControllerTerm;
}
