import { apiGroupOf, type AnyObject, type ResourceType } from '#pkg/apimachinery/index';
import { kindKey, resourceKey, type ServedTypes } from '../served-types/served-types.ts';

/** Which kinds own objects, and of which types: few among many, so that nobody has to be asked in vain. */
export class OwnerKinds {
  readonly #types: ServedTypes;
  readonly #dependents = new Map<string, Set<string>>();
  /** Types whose objects have not all been seen yet. */
  readonly #unseen = new Set<string>();

  constructor(types: ServedTypes) {
    this.#types = types;
  }

  joined(type: ResourceType): void {
    this.#unseen.add(resourceKey(type));
  }

  /** Every object of the type that has owners was noted. */
  seen(resource: string): void {
    this.#unseen.delete(resource);
  }

  note(type: ResourceType, { metadata }: Pick<AnyObject, 'metadata'>): void {
    for (const { apiVersion, kind } of metadata.ownerReferences ?? []) {
      const key = kindKey({ group: apiGroupOf(apiVersion), kind });
      const resources = this.#dependents.get(key) ?? new Set();
      this.#dependents.set(key, resources.add(resourceKey(type)));
    }
  }

  /** Could there be dependents of an object of this type? */
  isOwner(type: ResourceType): boolean {
    return this.#unseen.size > 0 || this.#dependents.has(kindKey(type));
  }

  /** Types of which there could be dependents of an object of this type, as far as news have come. */
  dependentsOf(type: ResourceType): ResourceType[] {
    const seen = this.#dependents.get(kindKey(type));
    return this.typesBelow(type).filter(
      (each) => seen?.has(resourceKey(each)) === true || this.#unseen.has(resourceKey(each)),
    );
  }

  /** Types whose objects can have owners of this type at all. */
  typesBelow(type: ResourceType): ResourceType[] {
    return this.#types.all().filter(({ namespaced }) => !type.namespaced || namespaced);
  }
}
