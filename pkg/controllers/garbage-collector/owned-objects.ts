import {
  isStatusError,
  ownerUidIndex,
  type AnyObject,
  type ListOptions,
  type Reader,
  type ResourceType,
  type Stored,
} from '#pkg/apimachinery/index';

/** Objects asked for at a time. */
export const chunkSize = 500;
/** Owners whose dependents are asked for at once. */
export const ownersAtOnce = 100;

/** A chunk of a type's objects that the field selector takes. */
export interface OwnedChunk {
  items: Stored<AnyObject>[];
  continue?: string;
}

/** Objects that have any owner. */
export const hasOwner = ownerUidIndex.name;

/** Objects that name one of these among their owners. */
export function ownedBy(uids: readonly string[]): string {
  return `${ownerUidIndex.name} in (${uids.join(',')})`;
}

/** One chunk; none of a type that is not served. */
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

/** All of them, chunk by chunk. */
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
