import { storedLength } from '../../body.ts';
import type { ReadBudget } from '../../read-budget.ts';
import type { StoredObject } from '../../store.ts';
import type { LargeReads } from '../connection/large-reads.ts';
import type { PageBound } from './list-query.ts';
import type { Table } from '../table/table.ts';

/** Read without reserving memory. */
export const unreservedBound: PageBound = { bytes: 512 * 1024, oneMore: false };

/** Maximum number of remembered sizes, of the most recently read places. */
const maxSizes = 4096;

interface PageReadOptions {
  /** Maximum number of objects. */
  limit: number;
  /** Absent for all namespaces. */
  namespace: string | undefined;
  readBudget: ReadBudget | undefined;
  holdsConnection: boolean;
}

interface PageWork<T> {
  read: (bound: PageBound) => Promise<T>;
  /** Were objects of the page left out? */
  isCut: (result: T) => boolean;
  itemsOf: (result: T) => readonly StoredObject[];
}

/**
 * Limits how much of a page or a chunk is read at once, and reserves memory for it. Remembers the average object size
 * of the last read per table and namespace, so that few pages are started without memory and read again. Large objects
 * in one namespace do not delay lists of another.
 */
export class PageMemory {
  /** Average object size in bytes by place; the most recently read place is at the end. */
  readonly #sizes = new Map<string, number>();
  readonly #most: PageBound;
  readonly #large: LargeReads;

  /** `maxBytes`: maximum read at once with reserved memory. */
  constructor(maxBytes: number, large: LargeReads) {
    this.#large = large;
    this.#most = { bytes: maxBytes, oneMore: true };
  }

  /** Reads the page. If the result was cut, reads it again with reserved memory. */
  async read<T>(
    table: Table,
    { limit, namespace = '', readBudget, holdsConnection }: PageReadOptions,
    { read, isCut, itemsOf }: PageWork<T>,
  ): Promise<T> {
    const place = `${table.id}/${namespace}`;
    const expected = (this.#sizes.get(place) ?? 0) * limit;
    const readMost = async (bytes: number): Promise<T> => {
      // Does not wait: other requests may need the caller's connection.
      if (holdsConnection) return read(this.#most);
      await readBudget?.admit(bytes);
      return this.#large.run({ owner: readBudget?.owner, bytes }, () => read(this.#most));
    };
    const isLarge = expected > unreservedBound.bytes;
    let result = isLarge ? await readMost(Math.min(expected, this.#most.bytes)) : await read(unreservedBound);
    if (!isLarge && isCut(result)) result = await readMost(this.#most.bytes);
    const items = itemsOf(result);
    const size = items.reduce((sum, item) => sum + storedLength(item), 0);
    if (items.length > 0) this.#remember(place, size / items.length);
    readBudget?.reportHeld(size);
    return result;
  }

  #remember(place: string, size: number): void {
    this.#sizes.delete(place);
    this.#sizes.set(place, size);
    if (this.#sizes.size > maxSizes) this.#sizes.delete(this.#sizes.keys().next().value!);
  }
}
