import type { ApiObject } from '#pkg/apimachinery/index';
import type { Change } from '#pkg/storage/index';
import { hasNameLabel } from './namespace-strategy.ts';

/** The existing namespaces, maintained from the change feed. */
export class NamespaceSet {
  /** By name: is the namespace being deleted? */
  readonly #terminating = new Map<string, boolean>();
  readonly #onUnlabelled: (name: string) => void;

  /** `onUnlabelled` is told of each namespace that is stored without the label with its name. */
  constructor(onUnlabelled: (name: string) => void = () => {}) {
    this.#onUnlabelled = onUnlabelled;
  }

  has(name: string): boolean {
    return this.#terminating.has(name);
  }

  isTerminating(name: string): boolean {
    return this.#terminating.get(name) === true;
  }

  put(name: string, body: string): void {
    const { metadata } = JSON.parse(body) as ApiObject;
    this.#terminating.set(name, metadata.deletionTimestamp !== undefined);
    if (!hasNameLabel(metadata)) this.#onUnlabelled(name);
  }

  apply({ type, name, body }: Change): void {
    if (type === 'delete') this.#terminating.delete(name);
    else this.put(name, body);
  }
}
