import type { ListQuery } from '#pkg/storage/index';
import type { ListRequest } from './served-resource.ts';

/** A request's list in the store's words. */
export function listQuery({ namespace, selector, sort, room, signal }: ListRequest): ListQuery {
  return {
    selector,
    sort,
    signal,
    ...(namespace === undefined ? {} : { namespace }),
    ...(room === undefined ? {} : { room }),
  };
}
