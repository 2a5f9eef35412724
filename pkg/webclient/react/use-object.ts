import type { AnyObject, IndexTypes, MetadataIndexes, Stored } from '#pkg/apimachinery/index';
import type { LiveQuery } from '../live/live.ts';
import type { LiveState } from '../live/list-follower.ts';
import type { ObjectName, Resource } from '../resource/resource.ts';
import { useLive } from './use-live.ts';

export interface LiveObject<T extends AnyObject> {
  /** Undefined while `state` is `loading`, and if there is no such object. */
  object: Stored<T> | undefined;
  state: LiveState;
}

/** One object, kept up to date. A namespaced one needs a resource of its namespace, or its `metadata` as the name. */
export function useObject<T extends AnyObject, Indexes extends IndexTypes>(
  resource: Resource<T, Indexes>,
  object: ObjectName,
): LiveObject<T> {
  const { namespace = '', name } = typeof object === 'string' ? { name: object } : object;
  const where = {
    'metadata.name': name,
    ...(namespace === '' ? {} : { 'metadata.namespace': namespace }),
  };
  const { items, state } = useLive(resource, { where } as LiveQuery<T, Indexes & MetadataIndexes>);
  return { object: items[0], state };
}
