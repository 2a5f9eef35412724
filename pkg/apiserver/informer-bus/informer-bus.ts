import type { Logger } from 'pino';
import {
  EventLoopTurns,
  isComputedIndex,
  KeyNotComputed,
  newServiceUnavailable,
  newTooLargeResourceVersion,
  newTooOldResourceVersion,
  newUnknownPath,
  type GroupResource,
  type Selector,
} from '#pkg/apimachinery/index';
import { isStorageError, type Change, type ChangeFeed, type Incarnation, type ReadBudget } from '#pkg/storage/index';
import type { WatchSink, WatchStream } from '../rest/served-resource.ts';
import { ChangeEvent, type BodyReader } from './change-event.ts';
import { ChangeRing, sizeOf } from './change-ring.ts';
import { BusWatcher, compileEventFilter } from './bus-watcher.ts';
import type { WatchGroup } from './watch-group.ts';
import { noWatchObserver, type WatchObserver } from './watch-observer.ts';

export interface InformerBusOptions {
  changes: ChangeFeed;
  log: Logger;
  /** History kept in memory, in characters of bodies. Default 8 Mi. */
  ringSize?: number;
  /** History kept in memory, in changes. Default 20 000. */
  ringCount?: number;
  observer?: WatchObserver | undefined;
}

export interface BusWatchRequest {
  resource: GroupResource;
  reader: BodyReader;
  group: WatchGroup;
  namespace?: string;
  selector: Selector;
  after: number;
  sink: WatchSink;
  /** See `WatchRequest`. */
  readBudget?: ReadBudget;
  signal?: AbortSignal;
}

/** How long a watch waits for a revision that this replica has not reached. Milliseconds. */
const futureTimeoutMs = 3_000;
/** History sent to a sink before the bus waits for it to drain, in characters of bodies. */
const replayPieceLength = 256 << 10;
/** History sent without reserving room, in characters of bodies. */
const unreservedLength = 64 << 10;

/**
 * Delivers every change to its watchers, in order of revision and synchronously: one subscription to the feed, and one
 * parse and one encoding per change for any number of watchers.
 */
export class InformerBus {
  readonly #changes: ChangeFeed;
  readonly #log: Logger;
  readonly #observer: WatchObserver;
  readonly #ring: ChangeRing;
  readonly #watchers = new Map<number, Set<BusWatcher>>();
  readonly #observers = new Map<number, Set<(change: Change) => void>>();
  readonly #unsubscribe: () => void;
  #delivered: number;
  #stopped = false;

  constructor({
    changes,
    log,
    ringSize = 8 << 20,
    ringCount = 20_000,
    observer = noWatchObserver,
  }: InformerBusOptions) {
    this.#changes = changes;
    this.#log = log;
    this.#observer = observer;
    this.#delivered = changes.cursor;
    this.#ring = new ChangeRing(changes.cursor, { size: ringSize, count: ringCount });
    this.#unsubscribe = changes.subscribe((batch, cursor, writtenAt) => this.#deliver(batch, cursor, writtenAt));
  }

  /** Every change up to here has been delivered. */
  get cursor(): number {
    return this.#delivered;
  }

  /**
   * Calls `observer` synchronously with every change of a model, before its watchers; the returned function removes it.
   */
  observe(modelId: number, observer: (change: Change) => void): () => void {
    return addTo(this.#observers, modelId, observer);
  }

  /**
   * Starts a watch; resolves when it is live. The sink gets every change after `after`, without gap or repetition, the
   * first ones before this resolves. Throws StatusError 410 if the history is gone or lacks computed keys that the
   * selector needs, 504 if the revision does not exist yet, 404 if the model is not stored, 503 if an index of the
   * selector is not ready.
   */
  async watch(request: BusWatchRequest): Promise<WatchStream> {
    await this.#waitForRevision(request.after);
    if (this.#changes.isLost(request.after)) throw newTooOldResourceVersion(request.after, this.#delivered);
    const incarnation = await this.#changes.incarnationOf(request.resource);
    if (incarnation === undefined) throw newUnknownPath();
    if (request.after < incarnation.replaces) throw newTooOldResourceVersion(request.after, incarnation.replaces);
    checkComputed(request, incarnation);
    const watcher = new BusWatcher({
      ...request,
      filter: compileEventFilter(request.namespace, request.selector),
      onSinkError: (error) =>
        this.#log.error({ err: error, resource: request.resource }, 'a watcher failed to handle an event'),
    });
    try {
      await this.#catchUp(watcher, request, incarnation.modelId);
      return watcher;
    } catch (error) {
      watcher.stop();
      throw error instanceof KeyNotComputed ? newTooOldResourceVersion(request.after, watcher.cursor) : error;
    }
  }

  /** Ends every watch. */
  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#unsubscribe();
    for (const set of this.#watchers.values()) for (const watcher of set) watcher.end('the server is stopping');
    this.#observers.clear();
  }

  async #waitForRevision(revision: number): Promise<void> {
    if (revision <= this.#delivered) return;
    const newest = await this.#changes.catchUp();
    if (revision <= this.#delivered || (await this.#changes.waitFor(revision, futureTimeoutMs))) return;
    throw newTooLargeResourceVersion(String(revision), Math.max(newest, this.#delivered));
  }

  /**
   * Sends history at the sink's pace, piece by piece; the last piece and the switch to live changes are one synchronous
   * step.
   */
  async #catchUp(
    watcher: BusWatcher,
    { resource, signal, group, sink, readBudget }: BusWatchRequest,
    modelId: number,
  ): Promise<void> {
    // Never decreases from piece to piece, so a started watch rarely has to wait for room again.
    let held = unreservedLength;
    let hasTurn = false;
    for (;;) {
      if (this.#stopped) throw newServiceUnavailable('the server is stopping');
      if (signal?.aborted === true) watcher.stop();
      else if (group.endReason !== undefined) watcher.end(group.endReason);
      if (watcher.isOver) return;
      const recent = this.#ring.after(watcher.cursor, modelId);
      const piece = recent && firstPiece(recent);
      const size = lengthOf(piece ?? []);
      if (size > held) {
        await readBudget?.admit(size);
        held = size;
        // Changes may have arrived meanwhile.
        continue;
      }
      if (piece !== undefined && piece.length === recent!.length) {
        if (size > unreservedLength && !hasTurn) {
          await turnFor(piece);
          hasTurn = true;
          continue;
        }
        // There is no await from here to `attach`, so no change is missed.
        watcher.replay(piece, this.#delivered);
        if (!watcher.isOver) watcher.attach(() => this.#delivered, addTo(this.#watchers, modelId, watcher));
        return;
      }
      hasTurn = false;
      const { changes, upTo } =
        piece === undefined
          ? await this.#history(resource, watcher.cursor, readBudget)
          : { changes: piece, upTo: piece.at(-1)!.revision };
      // Without progress the loop would never end.
      if (upTo <= watcher.cursor) throw newServiceUnavailable('the change history cannot be read at present');
      if (piece === undefined)
        held = Math.max(
          held,
          changes.reduce((sum, change) => sum + sizeOf(change), 0),
        );
      readBudget?.reportHeld(held);
      await replayPaced(
        watcher,
        sink,
        changes.filter((change) => change.modelId === modelId),
      );
      watcher.replay([], upTo);
    }
  }

  async #history(
    resource: GroupResource,
    after: number,
    readBudget: ReadBudget | undefined,
  ): Promise<{ changes: Change[]; upTo: number }> {
    if (after < this.#changes.compacted) throw newTooOldResourceVersion(after, this.#changes.compacted);
    try {
      return await this.#changes.read(resource, after, readBudget);
    } catch (error) {
      throw isStorageError(error, 'Compacted') ? newTooOldResourceVersion(after, this.#changes.compacted) : error;
    }
  }

  #deliver(batch: readonly Change[], cursor: number, writtenAt: readonly number[] | undefined): void {
    const start = performance.now();
    for (const [i, change] of batch.entries()) {
      this.#ring.push(change);
      for (const observer of this.#observers.get(change.modelId) ?? []) this.#inform(observer, change);
      const watchers = this.#watchers.get(change.modelId);
      if (watchers === undefined) continue;
      const event = new ChangeEvent(change);
      for (const watcher of watchers) watcher.take(event);
      if (writtenAt === undefined) this.#observer.delivered('own', performance.now() - start);
      else this.#observer.delivered('log', Math.max(0, Date.now() - writtenAt[i]!));
    }
    this.#delivered = Math.max(this.#delivered, cursor);
  }

  #inform(observer: (change: Change) => void, change: Change): void {
    try {
      observer(change);
    } catch (error) {
      this.#log.error({ err: error, revision: change.revision }, 'an observer failed to handle a change');
    }
  }
}

async function replayPaced(watcher: BusWatcher, sink: WatchSink, changes: readonly Change[]): Promise<void> {
  for (let rest = changes; rest.length > 0 && !watcher.isOver;) {
    const piece = firstPiece(rest);
    await turnFor(piece);
    watcher.replay(piece, piece.at(-1)!.revision);
    rest = rest.slice(piece.length);
    await sink.drained?.();
  }
}

/** Resolves when a piece may be sent. A change larger than a piece is large work. */
async function turnFor(piece: readonly Change[]): Promise<void> {
  const turns = new EventLoopTurns({ isLarge: lengthOf(piece) > replayPieceLength });
  if (turns.due) await turns.next();
}

/** In characters of bodies. */
function lengthOf(changes: readonly Change[]): number {
  return changes.reduce((sum, { body }) => sum + body.length, 0);
}

/** As many changes as fit, at least one. */
function firstPiece(changes: readonly Change[]): readonly Change[] {
  let size = 0;
  const end = changes.findIndex(({ body }, i) => {
    size += body.length;
    return i > 0 && size > replayPieceLength;
  });
  return end === -1 ? changes : changes.slice(0, end);
}

/** Changes have computed keys only since the index became ready. */
function checkComputed({ selector, after }: BusWatchRequest, { computedSince }: Incarnation): void {
  for (const { index } of selector.fields) {
    if (!isComputedIndex(index)) continue;
    const since = computedSince.get(index.computed.id);
    if (since === undefined) throw newServiceUnavailable(`the index ${index.name} is not ready`, 5);
    if (after < since) throw newTooOldResourceVersion(after, since);
  }
}

/** @returns a function that removes the member, and the set with its last member. */
function addTo<T>(sets: Map<number, Set<T>>, key: number, member: T): () => void {
  const set = sets.get(key) ?? new Set<T>();
  sets.set(key, set.add(member));
  return () => {
    set.delete(member);
    if (set.size === 0 && sets.get(key) === set) sets.delete(key);
  };
}
