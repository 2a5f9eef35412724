import { useMemo, useSyncExternalStore } from 'react';
import type { AnyObject, IndexTypes, MetadataIndexes, Stored } from '#pkg/apimachinery/index';
import { live, type LiveQuery } from '../live/live.ts';
import type { LiveState } from '../live/list-follower.ts';
import { selectionParams } from '../resource/query.ts';
import type { Resource } from '../resource/resource.ts';

export interface LiveResult<T extends AnyObject> {
  /** Empty while `state` is `loading`. The same array until one of them changes. */
  items: readonly Stored<T>[];
  state: LiveState;
}

/**
 * The objects of the selection, kept up to date from the first effect until the component is gone. Components with the
 * same selection share one stream. A `compare` should be the same function in each render.
 */
export function useLive<T extends AnyObject, Indexes extends IndexTypes>(
  resource: Resource<T, Indexes>,
  { compare, ...query }: LiveQuery<T, Indexes & MetadataIndexes> = {},
): LiveResult<T> {
  const { connection, path } = resource;
  const key = `${path}?${selectionParams(query).toString()} ${query.omitManagedFields ?? true}`;
  // The key has what is in the query, which is another object in each render.
  const store = useMemo(() => new LiveSubscription<T, Indexes>(resource, query), [connection, key]);
  const { items, state } = useSyncExternalStore(store.subscribe, store.read, store.read);
  const sorted = useMemo(() => (compare === undefined ? items : items.toSorted(compare)), [items, compare]);
  return { items: sorted, state };
}

/** A live list that begins with its subscription, because a render may be thrown away. */
class LiveSubscription<T extends AnyObject, Indexes extends IndexTypes> {
  readonly #resource: Resource<T, Indexes>;
  readonly #query: LiveQuery<T, Indexes & MetadataIndexes>;
  #result: LiveResult<T> = { items: [], state: { name: 'loading' } };

  constructor(resource: Resource<T, Indexes>, query: LiveQuery<T, Indexes & MetadataIndexes>) {
    this.#resource = resource;
    this.#query = query;
  }

  readonly read = (): LiveResult<T> => this.#result;

  readonly subscribe = (onChange: () => void): (() => void) => {
    const list = live(this.#resource, this.#query);
    const take = (): void => {
      const { current: items, state } = list;
      if (items === this.#result.items && state === this.#result.state) return;
      this.#result = { items, state };
      onChange();
    };
    const unsubscribe = list.subscribe(take);
    take();
    return () => {
      unsubscribe();
      // A component that follows in the same commit, or StrictMode's second mount, takes over the stream.
      setTimeout(() => list.stop(), 0);
    };
  };
}
