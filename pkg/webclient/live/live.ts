import type { AnyObject, ObjectList, Stored } from '#pkg/apimachinery/index';
import { selectionParams, type IndexTypes, type MetadataIndexes, type WhereSelection } from '../resource/query.ts';
import { acceptOf, type Resource } from '../resource/resource.ts';
import type { RequestSender } from '../request/sender.ts';
import { SharedStream } from '../stream/shared-stream.ts';
import type { LiveSource } from './change-feed.ts';
import { LiveList } from './live-list.ts';
import { LiveStore } from './live-store.ts';

export interface LiveQuery<T extends AnyObject, Indexes extends IndexTypes> extends WhereSelection<Indexes> {
  /** Order of the objects. Default: by namespace and name. */
  compare?: (a: Stored<T>, b: Stored<T>) => number;
  /** Leave `metadata.managedFields` out. Default true. */
  omitManagedFields?: boolean;
}

interface SharedStore {
  store: LiveStore<AnyObject>;
  users: number;
}

const chunkSize = 500;
/** By connection and selection. */
const shared = new WeakMap<object, Map<string, SharedStore>>();
const streams = new WeakMap<RequestSender, SharedStream[]>();

/**
 * The objects of the selection, kept up to date. All lists of a connection share one stream, and those of one selection
 * their objects, whatever their order. Stop the list at the end.
 */
export function live<T extends AnyObject, Indexes extends IndexTypes>(
  resource: Resource<T, Indexes>,
  { compare, ...query }: LiveQuery<T, Indexes & MetadataIndexes> = {},
): LiveList<T> {
  const { connection, path } = resource;
  const key = `${path}?${selectionParams(query).toString()} ${query.omitManagedFields ?? true}`;
  const stores = shared.get(connection) ?? new Map<string, SharedStore>();
  shared.set(connection, stores);
  const held = stores.get(key) ?? { store: newStore(resource, query) as unknown as LiveStore<AnyObject>, users: 0 };
  stores.set(key, held);
  held.users += 1;
  const release = (): void => {
    held.users -= 1;
    if (held.users > 0) return;
    stores.delete(key);
    held.store.stop();
  };
  return new LiveList<T>(held.store as unknown as LiveStore<T>, {
    release,
    ...(compare === undefined ? {} : { compare }),
  });
}

function newStore<T extends AnyObject, Indexes extends IndexTypes>(
  resource: Resource<T, Indexes>,
  query: Omit<LiveQuery<T, Indexes & MetadataIndexes>, 'compare'>,
): LiveStore<T> {
  return new LiveStore<T>({
    list: (signal) => listAll(resource, { ...query, signal }),
    follow: changesOf(resource, query),
  });
}

/** The changes of a selection, by the stream of its connection; by a watch where the server refuses streams. */
export function changesOf<T extends AnyObject, Indexes extends IndexTypes>(
  resource: Resource<T, Indexes>,
  { omitManagedFields = true, ...selection }: Omit<LiveQuery<T, Indexes & MetadataIndexes>, 'compare'>,
): LiveSource<T>['follow'] {
  const { model, namespace, connection } = resource;
  const target = {
    group: model.group,
    version: model.version,
    resource: model.plural,
    ...(namespace === '' ? {} : { namespace }),
    ...Object.fromEntries(selectionParams(selection)),
  };
  return async (since, sink, signal) => {
    const stream = streamOf(connection, acceptOf(omitManagedFields));
    if (await stream.follow(target, since, sink, signal)) return;
    const watch = await resource.watch({ ...selection, omitManagedFields, since, signal });
    sink.live();
    for await (const events of watch.batches()) sink.take(events);
    sink.behind(watch.wasSilent);
  };
}

function streamOf(connection: RequestSender, accept: string): SharedStream {
  const ofConnection = streams.get(connection) ?? [];
  streams.set(connection, ofConnection);
  const found = ofConnection.find((stream) => stream.accept === accept && !stream.isFull);
  if (found !== undefined) return found;
  const stream = new SharedStream(connection, accept);
  ofConnection.push(stream);
  return stream;
}

/** One snapshot, read in chunks. */
async function listAll<T extends AnyObject, Indexes extends IndexTypes>(
  resource: Resource<T, Indexes>,
  query: WhereSelection<Indexes & MetadataIndexes> & { signal: AbortSignal },
): Promise<ObjectList<T>> {
  const items: Stored<T>[] = [];
  let next: string | undefined;
  for (;;) {
    const { items: chunk, metadata } = await resource.list({
      ...query,
      limit: chunkSize,
      ...(next === undefined ? {} : { continue: next }),
    });
    items.push(...chunk);
    next = metadata.continue;
    if (next === undefined) return { items, resourceVersion: metadata.resourceVersion };
  }
}
