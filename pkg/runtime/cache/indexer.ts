import type { AnyObject, ObjectKey, Stored } from '#pkg/apimachinery/index';
import { formatRequest, requestOf } from '../reconcile/reconciler.ts';

/** The values of an object in one index of a cache; a pure function of the object. */
export type IndexFunction<T extends AnyObject> = (object: Stored<T>) => readonly string[];

/** Objects in memory, by key and by the values of named indexes. Returned objects are frozen. */
export class Indexer<T extends AnyObject> {
  readonly #objects = new Map<string, Stored<T>>();
  readonly #indexes = new Map<string, Index<T>>();

  get size(): number {
    return this.#objects.size;
  }

  /** May be called when the indexer already has objects. @throws Error if an index of that name exists. */
  addIndex(name: string, valuesOf: IndexFunction<T>): void {
    const present = this.#indexes.get(name);
    if (present?.valuesOf === valuesOf) return;
    if (present !== undefined) throw new Error(`there is another index named ${name}`);
    const index: Index<T> = { valuesOf, keys: new Map() };
    for (const [key, object] of this.#objects) insert(index, key, valuesIn(name, index, object));
    this.#indexes.set(name, index);
  }

  get(key: ObjectKey): Stored<T> | undefined {
    return this.#objects.get(formatRequest(key));
  }

  /** In no particular order. */
  all(): IterableIterator<Stored<T>> {
    return this.#objects.values();
  }

  /** The objects whose index values include `value`. @throws Error if there is no such index. */
  byIndex(name: string, value: string): Stored<T>[] {
    const index = this.#indexes.get(name);
    if (index === undefined) throw new Error(`there is no index named ${name}`);
    return Array.from(index.keys.get(value) ?? [], (key) => this.#objects.get(key)!);
  }

  /** Returns the previous object. @throws Error if an index function throws; then nothing has changed */
  set(object: Stored<T>): Stored<T> | undefined {
    const key = formatRequest(requestOf(object));
    const old = this.#objects.get(key);
    const values = Array.from(this.#indexes, ([name, index]) => [index, valuesIn(name, index, object)] as const);
    for (const [index, present] of values) {
      if (old !== undefined) remove(index, key, old);
      insert(index, key, present);
    }
    this.#objects.set(key, object);
    return old;
  }

  /** Returns the deleted object. */
  delete(objectKey: ObjectKey): Stored<T> | undefined {
    const key = formatRequest(objectKey);
    const old = this.#objects.get(key);
    if (old === undefined) return undefined;
    for (const index of this.#indexes.values()) remove(index, key, old);
    this.#objects.delete(key);
    return old;
  }

  clear(): void {
    this.#objects.clear();
    for (const index of this.#indexes.values()) index.keys.clear();
  }
}

interface Index<T extends AnyObject> {
  valuesOf: IndexFunction<T>;
  keys: Map<string, Set<string>>;
}

function valuesIn<T extends AnyObject>(name: string, { valuesOf }: Index<T>, object: Stored<T>): readonly string[] {
  try {
    return Array.from(valuesOf(object));
  } catch (error) {
    throw new Error(`the index ${name} has no values for ${formatRequest(requestOf(object))}`, { cause: error });
  }
}

function insert<T extends AnyObject>({ keys }: Index<T>, key: string, values: readonly string[]): void {
  for (const value of values) {
    const present = keys.get(value);
    if (present === undefined) keys.set(value, new Set([key]));
    else present.add(key);
  }
}

function remove<T extends AnyObject>({ valuesOf, keys }: Index<T>, key: string, object: Stored<T>): void {
  for (const value of valuesOf(object)) {
    const present = keys.get(value);
    present?.delete(key);
    if (present?.size === 0) keys.delete(value);
  }
}
