import type { AnyObject, Stored } from '#pkg/apimachinery/index';
import { selectionParams, type IndexTypes, type MetadataIndexes, type WhereSelection } from '../resource/query.ts';
import type { Resource } from '../resource/resource.ts';
import { LiveList } from './live-list.ts';
import { LiveStore } from './live-store.ts';
import { sourceOf } from './selection-source.ts';

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

/** By connection and selection. */
const shared = new WeakMap<object, Map<string, SharedStore>>();

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
  const held = stores.get(key) ?? {
    store: new LiveStore<T>(sourceOf(resource, query, true)) as unknown as LiveStore<AnyObject>,
    users: 0,
  };
  stores.set(key, held);
  held.users += 1;
  const release = (): void => {
    held.users -= 1;
    if (held.users > 0) return;
    stores.delete(key);
    held.store.stop();
  };
  return new LiveList<T>(held.store as unknown as LiveStore<T>, { release, compare });
}
