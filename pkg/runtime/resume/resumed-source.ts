import { newTimeout, withinTime, type AnyObject, type ClientEvent, type Watcher } from '#pkg/apimachinery/index';
import type { Informer } from '../cache/informer.ts';
import type { WatchDefinition } from '../definition/controller-definition.ts';
import type { ObjectEvent } from '../event/object-event.ts';
import { enqueueObject } from '../handler/event-handler.ts';
import type { Log } from '../log.ts';
import { and } from '../predicate/predicate.ts';
import { parseRequest } from '../reconcile/reconciler.ts';
import type { Enqueue, Source } from '../source/source.ts';
import { MissedEvents } from './missed-events.ts';

/**
 * How long to wait for a cache to reach the position, as its server may lag; after that the position is invalid.
 * Milliseconds.
 */
const maxLagMs = 2000;

export interface ResumedSourceOptions {
  informer: Informer<AnyObject>;
  watch: WatchDefinition;
  client: Watcher;
  log: Log;
  /** The revision to resume from; undefined for the beginning. */
  position: (signal: AbortSignal) => Promise<bigint | undefined>;
  /** Called if events were lost: everything must be reconciled. */
  onLost: () => void;
}

/**
 * The events of an informer after a stored position: of the initial objects only the newer ones, and deletions since.
 * Without a position it reports all objects.
 */
export class ResumedSource implements Source {
  readonly #options: ResumedSourceOptions;
  readonly #isWorth: (event: ObjectEvent) => boolean;
  readonly #isFixed: boolean;
  /** Objects created since the position, by uid: their requests are known. */
  readonly #createdSince = new Set<string>();
  #from: bigint | undefined;
  #isLost = false;
  #enqueue: Enqueue = () => undefined;
  #unlisten: (() => void) | undefined;
  #missed: MissedEvents | undefined;
  #isSynced = false;
  #stoppedAt: bigint | undefined;

  constructor(options: ResumedSourceOptions) {
    this.#options = options;
    const { handler, predicates, isMappingFixed = false } = options.watch;
    this.#isWorth = and(...predicates);
    this.#isFixed = isMappingFixed || handler === enqueueObject;
  }

  /** All events up to this revision were passed to `enqueue`; undefined while it is unknown. */
  get revision(): bigint | undefined {
    if (!this.#isSynced) return undefined;
    return this.#missed?.revision ?? this.#stoppedAt ?? this.#options.informer.revision;
  }

  /** The revision it resumed from; undefined for the beginning. */
  get from(): bigint | undefined {
    return this.#from;
  }

  async start(enqueue: Enqueue, signal: AbortSignal): Promise<boolean> {
    const { informer, position } = this.#options;
    this.#from = await position(signal);
    if (signal.aborted) return false;
    this.#enqueue = enqueue;
    let isFirstSight = true;
    this.#unlisten = informer.listen((event) => {
      const isFirst = event.type === 'create' && (isFirstSight || !informer.isSynced);
      if (isFirst && this.#isOld(event)) this.#emitInitial(event);
      else this.#emit(event, event.type === 'delete' && event.isGuess ? informer.revision + 1n : revisionOf(event));
    });
    isFirstSight = false;
    if (!(await informer.waitForSync(signal)) || !(await this.#reachPosition(signal)) || signal.aborted) return false;
    this.#emitMissed();
    this.#isSynced = true;
    return true;
  }

  /** Enqueues the objects that the position had skipped. */
  enqueueAll(): void {
    if (this.#isLost) return;
    this.#isLost = true;
    if (this.#from === undefined) return;
    for (const object of this.#options.informer.indexer.all()) {
      const event: ObjectEvent = { type: 'create', object };
      if (this.#isOld(event)) this.#emitInitial(event);
    }
  }

  /** Whether reconciling everything would enqueue this key. */
  isFound(key: string): boolean {
    const { informer, watch } = this.#options;
    const object = watch.handler === enqueueObject ? informer.indexer.get(parseRequest(key)) : undefined;
    try {
      return object !== undefined && this.#isWorth({ type: 'create', object });
    } catch {
      return false;
    }
  }

  problem(): unknown {
    return this.#options.informer.problem;
  }

  async stop(): Promise<void> {
    this.#unlisten?.();
    // The cache continues, but its later events are not reconciled.
    this.#stoppedAt = this.#options.informer.revision;
    this.#enqueue = () => undefined;
    await this.#missed?.stop();
  }

  /**
   * A position that the API never reaches belongs to another database, or to this one before a restore: it is ignored.
   * False if `signal` fired before.
   */
  async #reachPosition(signal: AbortSignal): Promise<boolean> {
    const { informer, onLost, log, watch } = this.#options;
    const from = this.#from ?? 0n;
    if (from <= informer.revision) return true;
    const isReached = await withinTime(
      { timeoutMs: maxLagMs, signal, timeoutError: () => newTimeout('the cache has not come to the stored position') },
      (limit) => informer.waitUntil(() => from <= informer.revision, limit),
    );
    if (isReached || signal.aborted) return isReached;
    log.warn(
      { resource: watch.type.plural, position: String(from), revision: String(informer.revision) },
      'the stored position is ahead of the API; reconciling all objects',
    );
    onLost();
    this.#from = undefined;
    return true;
  }

  #emitMissed(): void {
    const {
      informer,
      client,
      log,
      onLost,
      watch: { type, selection },
    } = this.#options;
    const from = this.#from;
    if (from === undefined || from >= informer.revision) return;
    const onEnd = (isExpired: boolean): void => {
      this.#createdSince.clear();
      if (isExpired) onLost();
    };
    this.#missed = new MissedEvents({
      client,
      type,
      selection,
      from,
      upTo: informer.revision,
      log,
      onEvent: (event) => this.#onMissed(event),
      onEnd,
    });
  }

  #onMissed({ type, object }: Exclude<ClientEvent<AnyObject>, { type: 'BOOKMARK' }>): void {
    const event: ObjectEvent =
      type === 'DELETED' ? { type: 'delete', object, isGuess: false } : { type: 'create', object };
    const { uid } = object.metadata;
    if (type === 'ADDED') this.#createdSince.add(uid);
    else if (type === 'DELETED') this.#createdSince.delete(uid);
    // The requests of its former state are unknown.
    else if (!this.#isFixed && !this.#createdSince.has(uid)) this.#options.onLost();
    // With a fixed mapping the cache has already reported the existing objects.
    if (!this.#isFixed || type === 'DELETED') this.#emit(event, revisionOf(event));
  }

  #isOld(event: ObjectEvent): boolean {
    return this.#from === undefined || revisionOf(event) <= this.#from;
  }

  /** Enqueues without a revision: reconciling everything would find it again. */
  #emitInitial(event: ObjectEvent): void {
    if (this.#from === undefined || this.#isLost) this.#emit(event, undefined);
  }

  #emit(event: ObjectEvent, revision: bigint | undefined): void {
    const { watch, log } = this.#options;
    try {
      if (!this.#isWorth(event)) return;
      for (const request of watch.handler(event)) this.#enqueue(request, revision === undefined ? {} : { revision });
    } catch (error) {
      log.error(
        { err: error, resource: watch.type.plural },
        'a predicate or handler of a controller failed; the event is lost',
      );
    }
  }
}

function revisionOf({ object }: ObjectEvent): bigint {
  return BigInt(object.metadata.resourceVersion);
}
