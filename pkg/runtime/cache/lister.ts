import type { AnyObject, ObjectKey, Stored } from '#pkg/apimachinery/index';
import type { Informer } from './informer.ts';

/** Reads a cache. All objects are frozen: to change one, change a copy (`structuredClone`). */
export class Lister<T extends AnyObject> {
  readonly #informer: Informer<T>;

  constructor(informer: Informer<T>) {
    this.#informer = informer;
  }

  get(key: ObjectKey): Stored<T> | undefined {
    return this.#informer.indexer.get(key);
  }

  /** The objects of one namespace, or of all. */
  list(namespace?: string): Stored<T>[] {
    const all = Array.from(this.#informer.indexer.all());
    return namespace === undefined ? all : all.filter(({ metadata }) => metadata.namespace === namespace);
  }

  /** The objects with `value` in an index that the controller declared. @throws Error if there is no such index. */
  byIndex(name: string, value: string): Stored<T>[] {
    return this.#informer.indexer.byIndex(name, value);
  }
}
