import {
  isStatusError,
  newNotFound,
  type AnyObject,
  type Client,
  type DeleteOptions,
  type Deletion,
  type EventStream,
  type Fence,
  type ListOptions,
  type ObjectKey,
  type ObjectList,
  type Patch,
  type RequestOptions,
  type ResourceType,
  type Stored,
  type WatchOptions,
  type WriteOptions,
} from '#pkg/apimachinery/index';
import { requestOf } from '../reconcile/reconciler.ts';
import type { Cache } from './cache.ts';
import type { Informer } from './informer.ts';
import { OwnWrites } from './own-writes.ts';

export interface CachedClientOptions {
  client: Client;
  cache: Cache;
  /** The fence of every write; called for each, undefined without a leader election. */
  fence?: () => Fence | undefined;
}

/**
 * A Client that reads from the existing caches, and everything else from the API. It reads its own writes: a read waits
 * until the cache shows this client's last write of the type, and looks up objects of writes whose response was lost.
 * Objects from a cache are frozen.
 */
export class CachedClient implements Client {
  readonly #client: Client;
  readonly #cache: Cache;
  readonly #fence: () => Fence | undefined;
  readonly #writes: OwnWrites;

  constructor({ client, cache, fence = () => undefined }: CachedClientOptions) {
    this.#client = client;
    this.#cache = cache;
    this.#fence = fence;
    this.#writes = new OwnWrites(client);
  }

  /** Resolves when the caches show all writes of this client. @throws the reason of `signal`. */
  catchUp(signal: AbortSignal): Promise<void> {
    return this.#writes.waitForAll(signal);
  }

  async get<T extends AnyObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    options: RequestOptions = {},
  ): Promise<Stored<T>> {
    const informer = await this.#freshCache(type, options.signal);
    if (informer === undefined) return this.#client.get(type, key, options);
    const object = informer.indexer.get(key);
    if (object === undefined) throw newNotFound({ group: type.group, resource: type.plural }, key.name);
    return object;
  }

  /** From the cache if no option but the namespace is given. */
  async list<T extends AnyObject>(type: ResourceType<T>, options: ListOptions = {}): Promise<ObjectList<T>> {
    const { namespace, signal, ...rest } = options;
    const informer = Object.keys(rest).length === 0 ? await this.#freshCache(type, signal) : undefined;
    if (informer === undefined) return this.#client.list(type, options);
    const items = Array.from(informer.indexer.all()).filter(
      ({ metadata }) => namespace === undefined || metadata.namespace === namespace,
    );
    return { resourceVersion: String(informer.revision), items };
  }

  create<T extends AnyObject>(type: ResourceType<T>, object: T, options?: WriteOptions): Promise<Stored<T>> {
    return this.#noting(type, requestOf(object), this.#client.create(type, object, this.#fenced(options)), options);
  }

  update<T extends AnyObject>(type: ResourceType<T>, object: T, options?: WriteOptions): Promise<Stored<T>> {
    return this.#noting(type, requestOf(object), this.#client.update(type, object, this.#fenced(options)), options);
  }

  patch<T extends AnyObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    patch: Patch,
    options?: WriteOptions,
  ): Promise<Stored<T>> {
    return this.#noting(type, key, this.#client.patch(type, key, patch, this.#fenced(options)), options);
  }

  updateStatus<T extends AnyObject>(type: ResourceType<T>, object: T, options?: WriteOptions): Promise<Stored<T>> {
    return this.#noting(
      type,
      requestOf(object),
      this.#client.updateStatus(type, object, this.#fenced(options)),
      options,
    );
  }

  patchStatus<T extends AnyObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    patch: Patch,
    options?: WriteOptions,
  ): Promise<Stored<T>> {
    return this.#noting(type, key, this.#client.patchStatus(type, key, patch, this.#fenced(options)), options);
  }

  async delete<T extends AnyObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    options?: DeleteOptions,
  ): Promise<Deletion<T>> {
    const informer = this.#cache.wholeOf(type);
    const deletion = await this.#knowing(informer, key, this.#client.delete(type, key, this.#fenced(options)));
    if (informer !== undefined && options?.dryRun !== true) {
      if (deletion.object === undefined) this.#writes.noteDeletion(informer, key, deletion.uid);
      else this.#writes.noteRevision(informer, deletion.object);
    }
    return deletion;
  }

  watch<T extends AnyObject>(type: ResourceType<T>, options: WatchOptions): Promise<EventStream<T>> {
    return this.#client.watch(type, options);
  }

  #fenced<Options extends WriteOptions>(options?: Options): Options {
    const fence = options?.fence ?? this.#fence();
    return { ...options, ...(fence === undefined ? {} : { fence }) } as Options;
  }

  async #noting<T extends AnyObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    write: Promise<Stored<T>>,
    options?: WriteOptions,
  ): Promise<Stored<T>> {
    const informer = this.#cache.wholeOf(type);
    const written = await this.#knowing(informer, key, write);
    if (informer !== undefined && options?.dryRun !== true) this.#writes.noteRevision(informer, written);
    return written;
  }

  /**
   * Remembers a write that may have succeeded although it failed. If the server was to generate the name, there is no
   * key to look up.
   */
  async #knowing<T extends AnyObject, Result>(
    informer: Informer<T> | undefined,
    key: ObjectKey,
    write: Promise<Result>,
  ): Promise<Result> {
    try {
      return await write;
    } catch (error) {
      const isRefusal = isStatusError(error) && error.code < 500;
      if (informer !== undefined && !isRefusal && key.name !== '') this.#writes.noteUnknown(informer, key);
      throw error;
    }
  }

  /** The type's cache, up to date with this client's writes; undefined if none has synced. */
  async #freshCache<T extends AnyObject>(
    type: ResourceType<T>,
    signal?: AbortSignal,
  ): Promise<Informer<T> | undefined> {
    const informer = this.#cache.wholeOf(type);
    if (informer?.isSynced !== true) return undefined;
    await this.#writes.waitFor(informer, signal);
    return informer;
  }
}
