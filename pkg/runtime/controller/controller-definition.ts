import type { AnyObject, Client, ResourceType, Selection } from '#pkg/apimachinery/index';
import type { IndexFunction } from '../cache/indexer.ts';
import type { Lister } from '../cache/lister.ts';
import type { EventHandler } from '../handler/event-handler.ts';
import type { Log } from '../log.ts';
import type { Predicate } from '../predicate/predicate.ts';
import type { ReconcileRequest, ReconcileResult } from '../reconcile/reconciler.ts';
import type { Source } from '../source/source.ts';
import type { RateLimiter } from '../workqueue/rate-limiter.ts';

/** What a reconcile has at hand. */
export interface ReconcileContext {
  /** Reads what the controller watches from its caches, the rest from the API; its writes are fenced where leaders are elected. */
  client: Client;
  /** The cache of a type that the controller watches whole. @throws Error for any other type. */
  lister<T extends AnyObject>(type: ResourceType<T>): Lister<T>;
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
}

/** What a controller has for one turn of running, which lasts while its process leads. */
export interface ControllerTurn {
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
  readonly begin: () => ControllerTurn;
}
