/** A reference from an object to its owner. */
export interface ModelReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  blockOwnerDeletion?: boolean;
}

export interface ExpectedObject {
  uid: string;
  kind: string;
  /** '' if its kind is cluster-scoped. */
  namespace: string;
  name: string;
  references: readonly ModelReference[];
}

/**
 * The objects that must remain after some objects of a world were deleted, by name, with the uids of their remaining
 * owners. Computed from the rules alone, until nothing changes. In orphaned worlds no object keeps a missing owner.
 */
export function expectedRemainingObjects(
  world: readonly ExpectedObject[],
  deleted: readonly string[],
  isOrphaning: boolean,
): Map<string, string[]> {
  const objects = new Map(
    world
      .filter(({ uid }) => !deleted.includes(uid))
      .map((object) => [object.uid, { ...object, references: [...object.references] }]),
  );
  const isThere = (object: ExpectedObject, reference: ModelReference): boolean => {
    const owner = objects.get(reference.uid);
    return (
      owner !== undefined &&
      owner.kind === reference.kind &&
      owner.name === reference.name &&
      (owner.namespace === '' || owner.namespace === object.namespace)
    );
  };
  // For a cluster-scoped object with a namespaced owner the result is undefined.
  const isLeftAlone = ({ namespace, references }: ExpectedObject): boolean =>
    namespace === '' && references.some(({ kind }) => kind !== 'Boss');
  for (let isChanged = true; isChanged;) {
    isChanged = false;
    for (const object of objects.values()) {
      if (object.references.length === 0 || isLeftAlone(object)) continue;
      const stays = object.references.filter((reference) => isThere(object, reference));
      if (stays.length === object.references.length) continue;
      isChanged = true;
      object.references = stays;
      if (stays.length === 0 && !isOrphaning) objects.delete(object.uid);
    }
  }
  return new Map(
    Array.from(objects.values(), ({ name, references }) => [name, references.map(({ uid }) => uid).toSorted()]),
  );
}
