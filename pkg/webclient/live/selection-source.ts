import type { AnyObject, Stored } from '#pkg/apimachinery/index';
import type { LiveSource } from '../live-source.ts';
import { selectionParams, type IndexTypes, type MetadataIndexes, type WhereSelection } from '../resource/query.ts';
import { acceptOf, type Resource } from '../resource/resource.ts';
import type { RequestSender } from '../request/sender.ts';
import { SharedStream } from '../stream/shared-stream.ts';

export type SelectionQuery<Indexes extends IndexTypes> = WhereSelection<Indexes & MetadataIndexes> & {
  omitManagedFields?: boolean;
};

const chunkSize = 500;
const streams = new WeakMap<RequestSender, SharedStream[]>();

/** The objects of a selection, or only its changes, from who keeps them for the connection. */
export function sourceOf<T extends AnyObject, Indexes extends IndexTypes>(
  resource: Resource<T, Indexes>,
  query: SelectionQuery<Indexes>,
  hasObjects: boolean,
): LiveSource<T> {
  const own = ownSource(resource, query, hasObjects);
  return resource.connection.feeds?.sourceOf({ resource, query, hasObjects }, own) ?? own;
}

/** The same by requests of the connection. */
export function ownSource<T extends AnyObject, Indexes extends IndexTypes>(
  resource: Resource<T, Indexes>,
  query: SelectionQuery<Indexes>,
  hasObjects: boolean,
): LiveSource<T> {
  const { maxSilenceMs } = resource.connection;
  return {
    maxSilenceMs,
    // One snapshot, read in chunks; without the objects only the revision to begin from.
    list: async (signal, onSilence) => {
      const items: Stored<T>[] = [];
      let next: string | undefined;
      for (;;) {
        const silence = setTimeout(onSilence, maxSilenceMs);
        const { items: chunk, metadata } = await resource
          .list({
            ...query,
            signal,
            answerMs: maxSilenceMs,
            limit: hasObjects ? chunkSize : 1,
            continue: next,
          })
          .finally(() => clearTimeout(silence));
        if (hasObjects) items.push(...chunk);
        next = metadata.continue;
        if (next === undefined || !hasObjects) return { items, resourceVersion: metadata.resourceVersion };
      }
    },
    follow: changesOf(resource, query),
  };
}

/** By the stream of the connection; by a watch where the server refuses streams. */
function changesOf<T extends AnyObject, Indexes extends IndexTypes>(
  resource: Resource<T, Indexes>,
  { omitManagedFields = true, ...selection }: SelectionQuery<Indexes>,
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
  let stream = ofConnection.find((known) => known.accept === accept && !known.isFull);
  if (stream === undefined) ofConnection.push((stream = new SharedStream(connection, accept)));
  return stream;
}
