import type { ReadRoom } from '../../read-room.ts';
import type { StoredObject } from '../../store.ts';
import type { LargeReads } from '../connection/large-reads.ts';
import type { PageBound } from './list-query.ts';
import type { Table } from '../table/table.ts';

/** Read without asking whether there is room. */
export const unasked: PageBound = { bytes: 512 * 1024, oneMore: false };

/** Sizes remembered: of the places that were read last. */
const maxSizes = 4096;

interface PageQuestion {
  /** Objects, at most. */
  limit: number;
  /** All namespaces where absent. */
  namespace: string | undefined;
  room: ReadRoom | undefined;
  holdsConnection: boolean;
}

interface PageWork<T> {
  read: (bound: PageBound) => Promise<T>;
  /** Are there objects of the page that were not read? */
  isCut: (result: T) => boolean;
  itemsOf: (result: T) => readonly StoredObject[];
}

/**
 * How much of a page or a chunk is read at once, and whether there is room for it: of each namespace of a table the
 * size of the objects in the last one is remembered, so that few pages are begun without room for them and read anew.
 * Large objects of one namespace do not make lists of another wait.
 */
export class PageRoom {
  /** The average size of an object in bytes, of the place that was read last at the end. */
  readonly #sizes = new Map<string, number>();
  readonly #most: PageBound;
  readonly #large: LargeReads;

  /** `maxBytes`: what is read at once with room for it. */
  constructor(maxBytes: number, large: LargeReads) {
    this.#large = large;
    this.#most = { bytes: maxBytes, oneMore: true };
  }

  /** Reads once more, with room for more, what was cut without. */
  async read<T>(
    table: Table,
    { limit, namespace = '', room, holdsConnection }: PageQuestion,
    { read, isCut, itemsOf }: PageWork<T>,
  ): Promise<T> {
    const place = `${table.id}/${namespace}`;
    const expected = (this.#sizes.get(place) ?? 0) * limit;
    const readMost = async (bytes: number): Promise<T> => {
      // Others may wait for its connection.
      if (holdsConnection) return read(this.#most);
      await room?.admit(bytes);
      return this.#large.run({ owner: room?.owner, bytes }, () => read(this.#most));
    };
    const isLarge = expected > unasked.bytes;
    let result = isLarge ? await readMost(Math.min(expected, this.#most.bytes)) : await read(unasked);
    if (!isLarge && isCut(result)) result = await readMost(this.#most.bytes);
    const items = itemsOf(result);
    const size = items.reduce((sum, { body }) => sum + body.length, 0);
    if (items.length > 0) this.#remember(place, size / items.length);
    room?.settle(size);
    return result;
  }

  #remember(place: string, size: number): void {
    this.#sizes.delete(place);
    this.#sizes.set(place, size);
    if (this.#sizes.size > maxSizes) this.#sizes.delete(this.#sizes.keys().next().value!);
  }
}
