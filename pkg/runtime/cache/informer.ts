import {
  formatGroupResource,
  type AnyObject,
  type ClientEvent,
  type Reader,
  type ResourceType,
  type Selection,
  type Stored,
  type Watcher,
} from '#pkg/apimachinery/index';
import type { ObjectEvent } from '../event/object-event.ts';
import type { Log } from '../log.ts';
import { formatRequest, requestOf } from '../reconcile/reconciler.ts';
import { Indexer } from './indexer.ts';
import { Reflector, type ReflectorSink } from './reflector.ts';

/** Receives the events of one informer's objects, in order. Runs synchronously. */
export type EventListener<T extends AnyObject> = (event: ObjectEvent<T>) => void;

export interface InformerOptions<T extends AnyObject> {
  client: Reader & Watcher;
  type: ResourceType<T>;
  selection?: Selection;
  log: Log;
  /** Delays between failed tries. Milliseconds, default 200 to 30 000. */
  backoff?: { baseMs: number; maxMs: number };
  /** Called when `problem` has changed. */
  onProblem?: () => void;
}

/** A cache of one type that follows the API, and emits events for changes. Source: client-go, `SharedIndexInformer`. */
export class Informer<T extends AnyObject> {
  readonly type: ResourceType<T>;
  readonly indexer = new Indexer<T>();
  readonly #log: Log;
  readonly #reflector: Reflector<T>;
  readonly #listeners = new Set<EventListener<T>>();
  readonly #waiters = new Set<() => void>();
  readonly #onProblem: () => void;
  #revision = 0n;
  #isSynced = false;
  #stopped = false;
  #problem: unknown;

  constructor({ client, type, selection, log, backoff, onProblem = () => undefined }: InformerOptions<T>) {
    this.type = type;
    this.#onProblem = onProblem;
    this.#log = log;
    const sink: ReflectorSink<T> = {
      replace: (objects, resourceVersion) => this.#replace(objects, BigInt(resourceVersion)),
      apply: (event) => this.#apply(event),
      failing: (problem) => this.#failing(problem),
    };
    this.#reflector = new Reflector({
      client,
      type,
      sink,
      log,
      ...(selection === undefined ? {} : { selection }),
      ...(backoff === undefined ? {} : { backoff }),
    });
  }

  /** Whether the first list is in the cache. */
  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** The cache has every change up to this revision. */
  get revision(): bigint {
    return this.#revision;
  }

  /** Why it cannot follow its type now (it keeps trying); undefined if it can. */
  get problem(): unknown {
    return this.#problem;
  }

  start(): void {
    this.#reflector.start();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#reflector.stop();
    this.#listeners.clear();
    this.#wake();
  }

  /** Starts with a `create` for each existing object. Returns a function that unsubscribes. */
  listen(listener: EventListener<T>): () => void {
    for (const object of this.indexer.all()) this.#notify([listener], { type: 'create', object });
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Resolves true when the first list is in the cache; false if the informer stops, or `signal` fires, before. */
  waitForSync(signal?: AbortSignal): Promise<boolean> {
    return this.waitUntil(() => this.#isSynced, signal);
  }

  /**
   * Checks after each change of the cache: resolves true once `holds` does, false if the informer stops, or `signal`
   * fires, before.
   */
  waitUntil(holds: () => boolean, signal?: AbortSignal): Promise<boolean> {
    if (holds()) return Promise.resolve(true);
    if (this.#stopped || signal?.aborted === true) return Promise.resolve(false);
    return new Promise((resolve) => {
      const check = (): void => {
        const isOver = this.#stopped || signal?.aborted === true;
        const isTrue = holds();
        if (!isTrue && !isOver) return;
        this.#waiters.delete(check);
        signal?.removeEventListener('abort', check);
        resolve(isTrue);
      };
      this.#waiters.add(check);
      signal?.addEventListener('abort', check);
    });
  }

  #replace(objects: readonly Stored<T>[], revision: bigint): void {
    const listed = new Set(objects.map((object) => formatRequest(requestOf(object))));
    const gone = Array.from(this.indexer.all(), requestOf).filter((key) => !listed.has(formatRequest(key)));
    let failure: { error: unknown } | undefined;
    for (const object of objects) {
      try {
        this.#set(object);
      } catch (error) {
        failure ??= { error };
      }
    }
    for (const key of gone) {
      const last = this.indexer.delete(key);
      if (last !== undefined) this.#notify(this.#listeners, { type: 'delete', object: last, isGuess: true });
    }
    // Thrown after the remaining objects were updated.
    if (failure !== undefined) throw failure.error;
    this.#isSynced = true;
    this.#moveTo(revision);
  }

  #apply(event: ClientEvent<T>): void {
    if (event.type === 'BOOKMARK') return this.#moveTo(BigInt(event.resourceVersion));
    const { object } = event;
    if (event.type === 'DELETED') {
      this.indexer.delete(requestOf(object));
      this.#notify(this.#listeners, { type: 'delete', object: deepFreeze(object), isGuess: false });
    } else this.#set(object);
    this.#moveTo(BigInt(object.metadata.resourceVersion));
  }

  #set(object: Stored<T>): void {
    const old = this.indexer.get(requestOf(object));
    if (old?.metadata.resourceVersion === object.metadata.resourceVersion) return;
    this.indexer.set(deepFreeze(object));
    if (old === undefined) this.#notify(this.#listeners, { type: 'create', object });
    else if (old.metadata.uid === object.metadata.uid) this.#notify(this.#listeners, { type: 'update', object, old });
    else {
      // It was deleted and recreated between two lists.
      this.#notify(this.#listeners, { type: 'delete', object: old, isGuess: true });
      this.#notify(this.#listeners, { type: 'create', object });
    }
  }

  #notify(listeners: Iterable<EventListener<T>>, event: ObjectEvent<T>): void {
    for (const listener of listeners) {
      try {
        listener(event);
      } catch (error) {
        this.#log.error({ err: error, resource: this.type.plural }, 'a listener of the cache failed');
      }
    }
  }

  #failing(problem: unknown): void {
    const { group, plural } = this.type;
    this.#problem =
      problem === undefined
        ? undefined
        : new Error(`${formatGroupResource({ group, resource: plural })} cannot be followed`, { cause: problem });
    this.#onProblem();
  }

  #moveTo(revision: bigint): void {
    if (revision > this.#revision) this.#revision = revision;
    this.#wake();
  }

  #wake(): void {
    for (const waiter of this.#waiters) waiter();
  }
}

/** Freezes a JSON value deeply, because all readers of a cache share its objects. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}
