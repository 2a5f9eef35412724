import {
  isStatusError,
  newNotFound,
  type AnyObject,
  type Client,
  type Deletion,
  type Fence,
  type ListOptions,
  type ObjectKey,
  type ObjectList,
  type RequestOptions,
  type ResourceType,
  type Stored,
} from '#pkg/apimachinery/index';
import { ClientWrapper, type ClientWrite, type ClientWriteOptions, type WriteResult } from '#pkg/client/index';
import type { Cache } from './cache.ts';
import type { Informer } from './informer.ts';
import { OwnWrites } from './own-writes.ts';

export interface CachedClientOptions {
  client: Client;
  cache: Cache;
  /** The fence of every write; called for each, undefined without a leader election. */
  fence?: () => Fence | undefined;
  /** The manager of the fields that its writes set, where they name none. Default: that of `client`. */
  fieldManager?: string;
}

/**
 * A Client that reads from the existing caches, and everything else from the API. It reads its own writes: a read waits
 * until the cache shows this client's last write of the type, and looks up objects of writes whose response was lost.
 * Objects from a cache are frozen.
 */
export class CachedClient extends ClientWrapper {
  readonly #cache: Cache;
  readonly #fence: () => Fence | undefined;
  readonly #fieldManager: { fieldManager?: string };
  readonly #writes: OwnWrites;

  constructor({ client, cache, fence = () => undefined, fieldManager }: CachedClientOptions) {
    super(client);
    this.#cache = cache;
    this.#fence = fence;
    this.#fieldManager = fieldManager === undefined ? {} : { fieldManager };
    this.#writes = new OwnWrites(client);
  }

  /** Resolves when the caches show all writes of this client. @throws the reason of `signal`. */
  catchUp(signal: AbortSignal): Promise<void> {
    return this.#writes.waitForAll(signal);
  }

  override async get<T extends AnyObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    options: RequestOptions = {},
  ): Promise<Stored<T>> {
    const informer = await this.#freshCache(type, options.signal);
    if (informer === undefined) return super.get(type, key, options);
    const object = informer.indexer.get(key);
    if (object === undefined) throw newNotFound({ group: type.group, resource: type.plural }, key.name);
    return object;
  }

  /** From the cache where nothing but the namespace is asked for. */
  override async list<T extends AnyObject>(type: ResourceType<T>, options: ListOptions = {}): Promise<ObjectList<T>> {
    const { namespace, signal, ...rest } = options;
    const informer = Object.keys(rest).length === 0 ? await this.#freshCache(type, signal) : undefined;
    if (informer === undefined) return super.list(type, options);
    const items = Array.from(informer.indexer.all()).filter(
      ({ metadata }) => namespace === undefined || metadata.namespace === namespace,
    );
    return { resourceVersion: String(informer.revision), items };
  }

  protected override async write<T extends AnyObject, Result extends WriteResult<T>>(
    { type, key, options }: ClientWrite<T>,
    send: (options: ClientWriteOptions | undefined) => Promise<Result>,
  ): Promise<Result> {
    const informer = this.#cache.wholeOf(type);
    const fence = options?.fence ?? this.#fence();
    const given = { ...this.#fieldManager, ...options, ...(fence === undefined ? {} : { fence }) };
    const written = await this.#knowing(informer, key, send(given));
    if (informer !== undefined && options?.dryRun !== true) this.#note(informer, key, written);
    return written;
  }

  #note<T extends AnyObject>(informer: Informer<T>, key: ObjectKey, written: WriteResult<T>): void {
    if (!isDeletion(written)) this.#writes.noteRevision(informer, written);
    else if (written.object !== undefined) this.#writes.noteRevision(informer, written.object);
    else this.#writes.noteDeletion(informer, key, written.uid);
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

function isDeletion<T extends AnyObject>(written: WriteResult<T>): written is Deletion<T> {
  return !('metadata' in written);
}
