/** An owner that an object names. */
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
  /** '' where its kind has none. */
  namespace: string;
  name: string;
  references: readonly ModelReference[];
}

/**
 * What must be left of a world when some of its objects were deleted, by name, with the uids of the owners each then
 * names: computed from the rule alone, until nothing changes, and in no order. Orphaned worlds hold no owners that are
 * not there.
 */
export function mustBeLeft(
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
  // Of an object without a namespace that names an owner of a kind that has them, nothing can be said.
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
