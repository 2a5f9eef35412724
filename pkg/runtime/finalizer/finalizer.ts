import type { AnyObject, Client, ResourceType, Stored } from '#pkg/apimachinery/index';

export function hasFinalizer({ metadata }: AnyObject, finalizer: string): boolean {
  return metadata.finalizers?.includes(finalizer) ?? false;
}

/**
 * Holds the object until `removeFinalizer`, so that its deletion can be cleaned up after. Answers the object as it then
 * is.
 */
export function addFinalizer<T extends AnyObject>(
  client: Pick<Client, 'patch'>,
  type: ResourceType<T>,
  object: Stored<T>,
  finalizer: string,
): Promise<Stored<T>> {
  return hasFinalizer(object, finalizer)
    ? Promise.resolve(object)
    : setFinalizers(client, type, object, [...(object.metadata.finalizers ?? []), finalizer]);
}

/** Lets the object go; the last to do so deletes it. Answers the object as it last was. */
export function removeFinalizer<T extends AnyObject>(
  client: Pick<Client, 'patch'>,
  type: ResourceType<T>,
  object: Stored<T>,
  finalizer: string,
): Promise<Stored<T>> {
  return hasFinalizer(object, finalizer)
    ? setFinalizers(
        client,
        type,
        object,
        object.metadata.finalizers!.filter((each) => each !== finalizer),
      )
    : Promise.resolve(object);
}

/** A list is replaced whole: with the revision it was read at, so that nobody else's entry is lost. */
function setFinalizers<T extends AnyObject>(
  client: Pick<Client, 'patch'>,
  type: ResourceType<T>,
  { metadata }: Stored<T>,
  finalizers: string[],
): Promise<Stored<T>> {
  const { namespace = '', name, resourceVersion } = metadata;
  return client.patch(
    type,
    { namespace, name },
    { type: 'merge', patch: { metadata: { resourceVersion, finalizers } } },
  );
}
