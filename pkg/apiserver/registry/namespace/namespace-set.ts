import type { ApiObject } from '#pkg/apimachinery/index';
import type { Change } from '#pkg/storage/index';

/** The existing namespaces, maintained from the change feed. */
export class NamespaceSet {
  /** By name: is the namespace being deleted? */
  readonly #terminating = new Map<string, boolean>();

  has(name: string): boolean {
    return this.#terminating.has(name);
  }

  isTerminating(name: string): boolean {
    return this.#terminating.get(name) === true;
  }

  put(name: string, body: string): void {
    const { metadata } = JSON.parse(body) as ApiObject;
    this.#terminating.set(name, metadata.deletionTimestamp !== undefined);
  }

  apply({ type, name, body }: Change): void {
    if (type === 'delete') this.#terminating.delete(name);
    else this.put(name, body);
  }
}
