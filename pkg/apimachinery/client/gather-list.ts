import { isStatusError } from '../status/status-error.ts';
import type { ListOptions, ObjectList, Stored } from './client.ts';
import type { AnyObject } from './resource-type.ts';

/** Options of one request for one chunk. */
export type ChunkOptions = ListOptions & { limit: number };

/**
 * A list for Reader, collected from chunks of at most `chunkSize`. If its history expires on the way, it starts again,
 * once. If a chunk is too large (413), it requests fewer objects: a list with a limit may then be shorter than the
 * limit, and `continue` gets the rest.
 */
export async function gatherList<T extends AnyObject>(
  options: ListOptions,
  chunkSize: number,
  fetch: (options: ChunkOptions) => Promise<ObjectList<T>>,
): Promise<ObjectList<T>> {
  const { limit = 0, continue: start, ...selection } = options;
  let size = limit === 0 ? chunkSize : limit;
  let next = start;
  let mayRestart = true;
  let items: Stored<T>[] = [];
  for (;;) {
    try {
      const chunk = await fetch({ ...selection, limit: size, ...(next === undefined ? {} : { continue: next }) });
      if (limit !== 0) return chunk;
      for (const item of chunk.items) items.push(item);
      if (chunk.continue === undefined) return { resourceVersion: chunk.resourceVersion, items };
      next = chunk.continue;
    } catch (error) {
      if (size > 1 && isStatusError(error, 'RequestEntityTooLarge')) {
        size = Math.ceil(size / 4);
      } else if (mayRestart && next !== start && isStatusError(error, 'Expired')) {
        mayRestart = false;
        next = start;
        items = [];
      } else {
        throw error;
      }
    }
  }
}
