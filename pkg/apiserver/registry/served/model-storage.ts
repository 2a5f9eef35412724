import { setImmediate } from 'node:timers/promises';
import { newNotFound, type JsonObject, type ObjectKey } from '#pkg/apimachinery/index';
import type { ChunkPosition, IdempotencyKey, ReadRoom, StoredObject } from '#pkg/storage/index';
import type {
  DeleteOutcome,
  DeleteRequest,
  ListRequest,
  Representation,
  RepresentationChunk,
  RepresentationPage,
  RepresentationStream,
  ResourceStorage,
  UpdateRequest,
  WatchRequest,
  WatchStream,
  WriteContext,
} from '../../rest/served-resource.ts';
import { storeListQuery, groupKind, subjectOf, type ModelContext } from '../model/model-context.ts';
import { statusFromError } from '../model/status-from-storage.ts';
import { idempotentWrite, findIdempotentWrite } from '../write/idempotent-write.ts';
import { createObject } from '../write/create-object.ts';
import { deleteObjectCollection, type CollectionRequest } from '../write/delete-collection.ts';
import { deleteObject } from '../write/delete-object.ts';
import { updateObject } from '../write/update-object.ts';

/** Objects, and characters of their bodies, that are represented in one turn of the event loop. */
const pieceSize = { count: 50, length: 256 << 10 };

/**
 * The REST semantics of one version of one model, each verb in its file; every StorageError leaves as a StatusError.
 */
export class ModelStorage implements ResourceStorage {
  private readonly context: ModelContext;

  constructor(context: ModelContext) {
    this.context = context;
  }

  async get(key: ObjectKey, room?: ReadRoom): Promise<Representation> {
    const { store, resource } = this.context;
    const stored = await this.translated(() => store.get(resource, key, room), key);
    if (stored === undefined) throw newNotFound(resource, key.name);
    return this.represent(stored);
  }

  async create(namespace: string, object: JsonObject, write: WriteContext): Promise<Representation> {
    return this.idempotent(write, () => createObject(this.context, namespace, object, write));
  }

  async update(request: UpdateRequest, write: WriteContext): Promise<Representation> {
    return this.idempotent(write, () => updateObject(this.context, request, write));
  }

  async delete(request: DeleteRequest, write: WriteContext): Promise<DeleteOutcome> {
    const { deleted, object } = await this.translated(() =>
      idempotentWrite(
        this.context,
        write,
        () => deleteObject(this.context, request, write),
        (first) => ({ deleted: first.type === 'delete', object: first.object }),
      ),
    );
    return deleted
      ? { deleted, uid: this.uidOf(object), object: this.represent(object) }
      : { deleted, object: this.represent(object) };
  }

  async deleteCollection(list: CollectionRequest, write: WriteContext): Promise<RepresentationStream> {
    const { revision, deleted } = await this.translated(() => deleteObjectCollection(this.context, list, write));
    return { revision, objects: this.represented(deleted), close: async () => {} };
  }

  async recall(
    idempotencyKey: IdempotencyKey,
    room?: ReadRoom,
  ): Promise<{ type: 'create' | 'update' | 'delete'; uid: string; object: Representation } | undefined> {
    const first = await this.translated(() => findIdempotentWrite(this.context, idempotencyKey, room));
    if (first !== undefined)
      return { type: first.type, uid: this.uidOf(first.object), object: this.represent(first.object) };
    this.context.idempotencyKeys.check(idempotencyKey, groupKind(this.context));
    return undefined;
  }

  async page(list: ListRequest & { page: number; size: number; exactTotal: boolean }): Promise<RepresentationPage> {
    const { store, resource, exactTotalLimit } = this.context;
    const { page, size, exactTotal } = list;
    const { items, rest, ...found } = await this.translated(() =>
      store.page(resource, { ...storeListQuery(list), page, size, exactTotal, exactTotalLimit }),
    );
    return { ...found, objects: this.represented(rest?.objects ?? [items]), close: async () => rest?.close() };
  }

  async chunk(list: ListRequest & { limit: number; after?: ChunkPosition }): Promise<RepresentationChunk> {
    const { store, resource } = this.context;
    const { limit, after } = list;
    const { items, ...found } = await this.translated(() =>
      store.chunk(resource, { ...storeListQuery(list), limit, ...(after === undefined ? {} : { after }) }),
    );
    return { ...found, objects: this.represented([items]), close: async () => {} };
  }

  async stream(list: ListRequest & { order: 'sort' | 'revision' }): Promise<RepresentationStream> {
    const { store, resource } = this.context;
    const stream = await this.translated(() => store.stream(resource, { ...storeListQuery(list), order: list.order }));
    return { revision: stream.revision, objects: this.represented(stream.objects), close: () => stream.close() };
  }

  async watch(request: WatchRequest): Promise<WatchStream> {
    const { bus, resource, codec, watches } = this.context;
    return this.translated(() => bus.watch({ ...request, resource, reader: codec, group: watches }));
  }

  /** A few at a time: what is stored in another form is made anew object by object, which takes its time. */
  private async *represented(
    batches: AsyncIterable<StoredObject[]> | Iterable<StoredObject[]>,
  ): AsyncGenerator<Representation[]> {
    try {
      for await (const batch of batches) {
        for (const [i, piece] of inPieces(batch).entries()) {
          if (i > 0) await setImmediate();
          yield piece.map((object) => this.represent(object));
        }
      }
    } catch (error) {
      throw this.statusOf(error, { namespace: '', name: '' });
    }
  }

  private async idempotent(write: WriteContext, run: () => Promise<StoredObject>): Promise<Representation> {
    return this.represent(
      await this.translated(() => idempotentWrite(this.context, write, run, (first) => first.object)),
    );
  }

  private async translated<T>(work: () => Promise<T>, key: ObjectKey = { namespace: '', name: '' }): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw this.statusOf(error, key);
    }
  }

  private statusOf(error: unknown, key: ObjectKey): unknown {
    return statusFromError(error, subjectOf(this.context, key));
  }

  private represent(stored: StoredObject): Representation {
    return this.context.codec.represent(stored);
  }

  private uidOf({ body }: StoredObject): string {
    const { metadata } = JSON.parse(body) as { metadata: { uid?: string } };
    return metadata.uid ?? '';
  }
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
    size += object.body.length;
  }
  return pieces;
}
