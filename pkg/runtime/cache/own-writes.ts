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

/** Limit of the wait for a cache to show a write; after that the cache is broken rather than late. Milliseconds. */
const cacheLagTimeoutMs = 10_000;

/** The writes that a cache does not show yet. */
interface Awaited {
  revision: bigint;
  /** Objects that this client deleted, by uid. */
  deleted: Map<string, ObjectKey>;
  /** Objects of writes whose response was lost, by key: they are looked up before the next read. */
  unknown: Map<string, ObjectKey>;
}

/** Writes of this process that its caches may not show yet. */
export class OwnWrites {
  readonly #reader: Pick<Reader, 'get'>;
  readonly #awaited = new Map<Informer<AnyObject>, Awaited>();

  /** `reader` must not read from a cache: it looks up objects of lost responses. */
  constructor(reader: Pick<Reader, 'get'>) {
    this.#reader = reader;
  }

  noteRevision<T extends AnyObject>(informer: Informer<T>, { metadata }: Stored<T>): void {
    const awaited = this.#of(informer);
    const revision = BigInt(metadata.resourceVersion);
    // A write that changed nothing returns an old revision: nothing to wait for.
    if (revision > awaited.revision) awaited.revision = revision;
  }

  noteDeletion<T extends AnyObject>(informer: Informer<T>, key: ObjectKey, uid: string): void {
    this.#of(informer).deleted.set(uid, key);
  }

  /** Records a write that may or may not have succeeded. */
  noteUnknown<T extends AnyObject>(informer: Informer<T>, key: ObjectKey): void {
    this.#of(informer).unknown.set(formatRequest(key), { ...key });
  }

  /** @throws StatusError 504 if the cache stays behind, the failure of a look-up, or the reason of `signal`. */
  async waitFor<T extends AnyObject>(informer: Informer<T>, signal?: AbortSignal): Promise<void> {
    const awaited = this.#awaited.get(informer as unknown as Informer<AnyObject>);
    if (awaited === undefined) return;
    for (const [id, key] of awaited.unknown) {
      await this.#lookUp(informer, key, signal);
      // Keep an entry of another response that was lost meanwhile: it still needs a look-up.
      if (awaited.unknown.get(id) === key) awaited.unknown.delete(id);
    }
    const timeoutError = (): Error =>
      newTimeout(`the cache of ${informer.type.plural} stays behind this process's own writes`);
    // Mostly there is nothing to wait for, and no need of a timer.
    const isThere =
      isShown(informer, awaited) ||
      (await withinTime({ timeoutMs: cacheLagTimeoutMs, signal, timeoutError }, (limit) =>
        informer.waitUntil(() => isShown(informer, awaited), limit),
      ));
    signal?.throwIfAborted();
    if (!isThere) throw timeoutError();
  }

  async waitForAll(signal: AbortSignal): Promise<void> {
    for (const informer of this.#awaited.keys()) await this.waitFor(informer, signal);
  }

  /** The present object shows the result of the write. */
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

/** Also forgets the deletions that the cache has shown. */
function isShown<T extends AnyObject>(informer: Informer<T>, awaited: Awaited): boolean {
  if (informer.revision < awaited.revision) return false;
  for (const [uid, key] of awaited.deleted) {
    if (informer.indexer.get(key)?.metadata.uid === uid) return false;
    awaited.deleted.delete(uid);
  }
  return true;
}
