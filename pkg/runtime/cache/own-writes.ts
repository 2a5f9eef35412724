import {
  isStatusError,
  newTimeout,
  withinTime,
  type AnyObject,
  type ObjectKey,
  type Reader,
  type Stored,
} from '#pkg/apimachinery/index';
import { formatRequest } from '../reconcile/reconciler.ts';
import type { Informer } from './informer.ts';

/** For a cache to show a write; past that it is not only late. Milliseconds. */
const longestWait = 10_000;

/** What a cache has still to show. */
interface Awaited {
  revision: bigint;
  /** Objects deleted by us, by uid. */
  deleted: Map<string, ObjectKey>;
  /** Objects of writes whose answers were lost, by their keys: done or not, they are looked up before they are read. */
  unknown: Map<string, ObjectKey>;
}

/** What this process wrote and its caches may not show yet. */
export class OwnWrites {
  readonly #reader: Pick<Reader, 'get'>;
  readonly #awaited = new Map<Informer<AnyObject>, Awaited>();

  /** Through `reader`, which is no cache, the objects of lost answers are looked up. */
  constructor(reader: Pick<Reader, 'get'>) {
    this.#reader = reader;
  }

  noteRevision<T extends AnyObject>(informer: Informer<T>, { metadata }: Stored<T>): void {
    const awaited = this.#of(informer);
    const revision = BigInt(metadata.resourceVersion);
    // A write that changed nothing answers an old revision: there is nothing to wait for.
    if (revision > awaited.revision) awaited.revision = revision;
  }

  noteDeletion<T extends AnyObject>(informer: Informer<T>, key: ObjectKey, uid: string): void {
    this.#of(informer).deleted.set(uid, key);
  }

  /** Of a write that may or may not have been done. */
  noteUnknown<T extends AnyObject>(informer: Informer<T>, key: ObjectKey): void {
    this.#of(informer).unknown.set(formatRequest(key), { ...key });
  }

  /**
   * @throws StatusError 504 if the cache stays behind, the failure of a look-up, or whatever `signal` was aborted with.
   */
  async waitFor<T extends AnyObject>(informer: Informer<T>, signal?: AbortSignal): Promise<void> {
    const awaited = this.#awaited.get(informer as unknown as Informer<AnyObject>);
    if (awaited === undefined) return;
    for (const [id, key] of awaited.unknown) {
      await this.#lookUp(informer, key, signal);
      // Another answer for the same object may have been lost meanwhile: that one is still to be looked up.
      if (awaited.unknown.get(id) === key) awaited.unknown.delete(id);
    }
    const late = (): Error => newTimeout(`the cache of ${informer.type.plural} stays behind this process's own writes`);
    // Mostly there is nothing to wait for, and no need of a timer.
    const isThere =
      isShown(informer, awaited) ||
      (await withinTime({ timeoutMs: longestWait, signal, late }, (limit) =>
        informer.waitUntil(() => isShown(informer, awaited), limit),
      ));
    signal?.throwIfAborted();
    if (!isThere) throw late();
  }

  async waitForAll(signal: AbortSignal): Promise<void> {
    for (const informer of this.#awaited.keys()) await this.waitFor(informer, signal);
  }

  /** What the write came to is what there is now. */
  async #lookUp<T extends AnyObject>(informer: Informer<T>, key: ObjectKey, signal?: AbortSignal): Promise<void> {
    try {
      this.noteRevision(informer, await this.#reader.get(informer.type, key, signal === undefined ? {} : { signal }));
    } catch (error) {
      if (!isStatusError(error, 'NotFound')) throw error;
      const shown = informer.indexer.get(key);
      if (shown !== undefined) this.noteDeletion(informer, key, shown.metadata.uid);
    }
  }

  #of<T extends AnyObject>(informer: Informer<T>): Awaited {
    const key = informer as unknown as Informer<AnyObject>;
    const present = this.#awaited.get(key);
    if (present !== undefined) return present;
    const fresh: Awaited = { revision: 0n, deleted: new Map(), unknown: new Map() };
    this.#awaited.set(key, fresh);
    return fresh;
  }
}

/** Forgets, on the way, the deletions that the cache has shown. */
function isShown<T extends AnyObject>(informer: Informer<T>, awaited: Awaited): boolean {
  if (informer.revision < awaited.revision) return false;
  for (const [uid, key] of awaited.deleted) {
    if (informer.indexer.get(key)?.metadata.uid === uid) return false;
    awaited.deleted.delete(uid);
  }
  return true;
}
