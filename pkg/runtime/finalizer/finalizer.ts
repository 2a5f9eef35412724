import type { AnyObject, Client, ResourceType, Stored } from '#pkg/apimachinery/index';

export function hasFinalizer({ metadata }: AnyObject, finalizer: string): boolean {
  return metadata.finalizers?.includes(finalizer) ?? false;
}

/**
 * Blocks the deletion of the object until `removeFinalizer`, so that the controller can clean up. Returns the new
 * object.
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

/** Unblocks the deletion; removing the last finalizer deletes the object. Returns the object as it last was. */
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

/** A merge patch replaces the whole list: the revision prevents that it removes an entry of others. */
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
