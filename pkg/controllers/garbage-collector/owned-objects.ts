import {
  isStatusError,
  ownerUidIndex,
  type AnyObject,
  type ListOptions,
  type Reader,
  type ResourceType,
  type Stored,
} from '#pkg/apimachinery/index';

/** Objects in a chunk of a list. */
export const chunkSize = 500;
/** Owners in one query for dependents. */
export const ownersPerList = 100;

/** A chunk of the objects that match a field selector. */
export interface OwnedChunk {
  items: Stored<AnyObject>[];
  continue?: string;
}

/** Field selector of objects with any owner. */
export const hasOwner = ownerUidIndex.name;

/** Field selector of objects that have one of these owners. */
export function ownedBy(uids: readonly string[]): string {
  return `${ownerUidIndex.name} in (${uids.join(',')})`;
}

/** Reads one chunk; an empty one if the type is not served. */
export async function readChunk(
  client: Reader,
  type: ResourceType,
  options: Pick<ListOptions, 'fieldSelector' | 'continue' | 'signal' | 'limit'>,
): Promise<OwnedChunk> {
  try {
    const { items, continue: next } = await client.list(type, { limit: chunkSize, ...options });
    return { items, ...(next === undefined ? {} : { continue: next }) };
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return { items: [] };
    throw error;
  }
}

/** Reads all chunks. */
export async function* readChunks(
  client: Reader,
  type: ResourceType,
  options: Pick<ListOptions, 'fieldSelector' | 'signal'>,
): AsyncGenerator<Stored<AnyObject>[]> {
  let next: string | undefined;
  do {
    const chunk = await readChunk(client, type, { ...options, ...(next === undefined ? {} : { continue: next }) });
    if (chunk.items.length > 0) yield chunk.items;
    next = chunk.continue;
  } while (next !== undefined);
}
