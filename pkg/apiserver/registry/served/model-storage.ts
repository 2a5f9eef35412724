import { setImmediate } from 'node:timers/promises';
import { newNotFound, type JsonObject, type ObjectKey } from '#pkg/apimachinery/index';
import {
  storedLength,
  type ChunkPosition,
  type IdempotencyKey,
  type ObjectReader,
  type ReadBudget,
  type StoredObject,
} from '#pkg/storage/index';
import type {
  ApplyRequest,
  DeleteOutcome,
  DeleteRequest,
  ListRequest,
  RememberedOutcome,
  Representation,
  RepresentationChunk,
  RepresentationPage,
  RepresentationStream,
  ResourceStorage,
  UpdateRequest,
  WatchRequest,
  WatchStream,
} from '../../rest/served-resource.ts';
import type { WriteContext } from '../../rest/write-context.ts';
import { ConvertingSink } from '../../informer-bus/converting-sink.ts';
import { convertedFingerprint } from '../model/version-codec.ts';
import { storeListQuery, groupKind, type ModelContext } from '../model/model-context.ts';
import { noObject, statusFromError, subjectOf, translateErrors } from '../model/status-from-storage.ts';
import { applyConfiguration } from '../write/apply-configuration.ts';
import { deleteObjectCollection, type CollectionRequest } from '../write/delete-collection.ts';
import { ObjectWrite, type WriteRequest } from '../write/object-write.ts';
import { findIdempotentWrite, runIdempotentWrite } from '../write/write-steps.ts';
import { UnreadableObjects } from './unreadable-objects.ts';

/** Objects, and characters of their bodies, that are converted in one turn of the event loop. */
const pieceSize = { count: 50, length: 256 << 10 };

/**
 * The REST semantics of one version of one model. Writes go through `writeSteps`; every StorageError leaves as a
 * StatusError.
 */
export class ModelStorage implements ResourceStorage {
  readonly #context: ModelContext;
  readonly #reader: ObjectReader;

  /** `reader`: where `get` and lists read. Default: the store. */
  constructor(context: ModelContext, reader: ObjectReader = context.store) {
    this.#context = context;
    this.#reader = reader;
  }

  async get(key: ObjectKey, readBudget?: ReadBudget): Promise<Representation> {
    const { resource } = this.#context;
    const stored = await this.#translated(() => this.#reader.get(resource, key, readBudget), key);
    if (stored === undefined) throw newNotFound(resource, key.name);
    return this.#converted(stored);
  }

  async create(namespace: string, body: JsonObject, context: WriteContext): Promise<Representation> {
    return this.#outcome(await this.#write(context, { verb: 'create', namespace, body }));
  }

  async update(request: UpdateRequest, context: WriteContext): Promise<Representation> {
    return this.#outcome(await this.#write(context, { verb: 'update', ...request }));
  }

  async apply(request: ApplyRequest, context: WriteContext): Promise<{ isCreated: boolean; object: Representation }> {
    const write = await applyConfiguration(this.#context, request, context);
    return { isCreated: write.type === 'create', object: await this.#outcome(write) };
  }

  async delete(request: DeleteRequest, context: WriteContext): Promise<DeleteOutcome> {
    const write = await this.#write(context, { verb: 'delete', ...request });
    const object = await this.#outcome(write);
    return write.type === 'delete'
      ? { deleted: true, uid: this.#uidOf(write.stored), object }
      : { deleted: false, object };
  }

  async deleteCollection(list: CollectionRequest, context: WriteContext): Promise<RepresentationStream> {
    const { revision, deleted } = await this.#translated(() => deleteObjectCollection(this.#context, list, context));
    return {
      revision,
      objects: this.#represented(deleted, { areFinal: true, signal: context.signal }),
      close: async () => {},
    };
  }

  async findRememberedWrite(
    idempotencyKey: IdempotencyKey,
    readBudget?: ReadBudget,
  ): Promise<RememberedOutcome | undefined> {
    const first = await findIdempotentWrite(this.#context, idempotencyKey, readBudget);
    if (first !== undefined) {
      const object = await this.#converted(first.object, first.type === 'delete');
      return { type: first.type, uid: this.#uidOf(first.object), object: replayed(object) };
    }
    this.#context.idempotencyKeys.check(idempotencyKey, groupKind(this.#context));
    return undefined;
  }

  async page(list: ListRequest & { page: number; size: number; exactTotal: boolean }): Promise<RepresentationPage> {
    const { resource, exactTotalLimit } = this.#context;
    const { page, size, exactTotal } = list;
    const { items, rest, ...found } = await this.#translated(() =>
      this.#reader.page(resource, { ...storeListQuery(list), page, size, exactTotal, exactTotalLimit }),
    );
    return { ...found, objects: this.#represented(rest?.objects ?? [items], list), close: async () => rest?.close() };
  }

  async chunk(list: ListRequest & { limit: number; after?: ChunkPosition }): Promise<RepresentationChunk> {
    const { resource } = this.#context;
    const { limit, after } = list;
    const { items, ...found } = await this.#translated(() =>
      this.#reader.chunk(resource, { ...storeListQuery(list), limit, ...(after === undefined ? {} : { after }) }),
    );
    return { ...found, objects: this.#represented([items], list), close: async () => {} };
  }

  async stream(list: ListRequest & { order: 'sort' | 'revision' }): Promise<RepresentationStream> {
    const { resource } = this.#context;
    const stream = await this.#translated(() =>
      this.#reader.stream(resource, { ...storeListQuery(list), order: list.order }),
    );
    return { revision: stream.revision, objects: this.#represented(stream.objects, list), close: () => stream.close() };
  }

  async watch(request: WatchRequest): Promise<WatchStream> {
    const { bus, resource, codec, converter, watches } = this.#context;
    if (converter === undefined)
      return this.#translated(() => bus.watch({ ...request, resource, reader: codec, group: watches }));
    const sink = new ConvertingSink(request.sink);
    const stream = await this.#translated(() =>
      bus.watch({ ...request, sink, resource, reader: converter, group: watches }),
    );
    return sink.follow(stream);
  }

  async isLost(revision: number): Promise<boolean> {
    const { changes } = this.#context.store;
    if (revision > changes.cursor) await this.#translated(() => changes.catchUp());
    return changes.isLost(revision);
  }

  /** Yields a few objects at a time: converting objects that are stored in another form takes long. */
  async *#represented(
    batches: AsyncIterable<StoredObject[]> | Iterable<StoredObject[]>,
    { areFinal = false, signal }: { areFinal?: boolean; signal: AbortSignal },
  ): AsyncGenerator<Representation[]> {
    const { converter } = this.#context;
    const unreadable = new UnreadableObjects(this.#context.resource);
    try {
      for await (const batch of batches) {
        for (const [i, piece] of inPieces(batch).entries()) {
          if (i > 0) await setImmediate();
          const converted = converter === undefined ? piece : await converter.toVersion(piece, signal);
          const represented = converted.flatMap((object) => {
            try {
              return [this.#represent(object, areFinal)];
            } catch (error) {
              unreadable.add(object, error);
              return [];
            }
          });
          // The list has failed; the others that cannot be read are looked for, so that one answer names all.
          if (unreadable.isEmpty) yield represented;
          else if (unreadable.isFull) unreadable.throwIfAny();
        }
      }
      unreadable.throwIfAny();
    } catch (error) {
      throw statusFromError(error, subjectOf(this.#context, noObject));
    }
  }

  async #write(context: WriteContext, request: WriteRequest): Promise<ObjectWrite> {
    const write = new ObjectWrite(this.#context, context, request);
    await runIdempotentWrite(write);
    return write;
  }

  #translated<T>(work: () => Promise<T>, key: ObjectKey = noObject): Promise<T> {
    return translateErrors({ model: this.#context, key }, work);
  }

  async #outcome({ stored, shown, isReplayed, request, type }: ObjectWrite): Promise<Representation> {
    const isDeletion = request.verb === 'delete';
    if (isReplayed) return replayed(await this.#converted(stored, type === 'delete'));
    if (shown === undefined) return this.#represent(stored, isDeletion);
    return this.#represent({ ...stored, body: shown, fingerprint: convertedFingerprint }, isDeletion);
  }

  /** Where a webhook converts, what is deleted stays as it was stored: nobody is shown it. */
  async #converted(stored: StoredObject, isFinal = false): Promise<Representation> {
    const { converter } = this.#context;
    const [converted] = converter === undefined || isFinal ? [stored] : await converter.toVersion([stored]);
    return this.#represent(converted!, isFinal);
  }

  #represent(stored: StoredObject, isFinal = false): Representation {
    return this.#context.codec.represent(stored, isFinal);
  }

  #uidOf({ body }: StoredObject): string {
    const { metadata } = JSON.parse(body) as { metadata: { uid?: string } };
    return metadata.uid ?? '';
  }
}

function replayed(object: Representation): Representation {
  return { ...object, isReplayed: true };
}

function inPieces(objects: readonly StoredObject[]): StoredObject[][] {
  const pieces: StoredObject[][] = [];
  let size = pieceSize.length;
  for (const object of objects) {
    if (size >= pieceSize.length || pieces.at(-1)!.length === pieceSize.count) {
      pieces.push([]);
      size = 0;
    }
    pieces.at(-1)!.push(object);
    size += storedLength(object);
  }
  return pieces;
}
