import { apiGroupOf, type AnyObject, type ResourceType } from '#pkg/apimachinery/index';
import { kindKey, resourceKey, type ServedTypes } from '../served-types/served-types.ts';

/** Tracks which kinds own objects, and of which types. These are few, so that most lookups need no request. */
export class OwnerKinds {
  readonly #types: ServedTypes;
  readonly #dependents = new Map<string, Set<string>>();
  /** Types whose objects were not all read yet. */
  readonly #unseen = new Set<string>();

  constructor(types: ServedTypes) {
    this.#types = types;
  }

  joined(type: ResourceType): void {
    this.#unseen.add(resourceKey(type));
  }

  /** All objects of the type that have owners were noted. */
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

  /** Whether an object of this type could have dependents. */
  isOwner(type: ResourceType): boolean {
    return this.#unseen.size > 0 || this.#dependents.has(kindKey(type));
  }

  /** Types that could have dependents of an object of this type, as far as events have arrived. */
  dependentsOf(type: ResourceType): ResourceType[] {
    const seen = this.#dependents.get(kindKey(type));
    return this.typesBelow(type).filter(
      (each) => seen?.has(resourceKey(each)) === true || this.#unseen.has(resourceKey(each)),
    );
  }

  /** Types whose objects can have owners of this type by scope. */
  typesBelow(type: ResourceType): ResourceType[] {
    return this.#types.all().filter(({ namespaced }) => !type.namespaced || namespaced);
  }
}
