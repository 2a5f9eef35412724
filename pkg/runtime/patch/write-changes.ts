import {
  isStatusError,
  mergePatchBetween,
  type AnyObject,
  type Client,
  type JsonObject,
  type ResourceType,
  type Stored,
} from '#pkg/apimachinery/index';

/**
 * Writes what differs between an object as it was read and as it should be: status by its subresource, the rest by the
 * object, nothing where nothing changed. What others changed meanwhile in other fields stays; a list is replaced whole,
 * so one that several parties edit needs `update` with its resourceVersion. Answers the object as it then is.
 */
export async function writeChanges<T extends AnyObject>(
  client: Pick<Client, 'patch' | 'patchStatus'>,
  type: ResourceType<T>,
  read: Stored<T>,
  wanted: T,
): Promise<Stored<T>> {
  const key = { namespace: read.metadata.namespace ?? '', name: read.metadata.name };
  const { status, ...rest } = mergePatchBetween(read as unknown as JsonObject, wanted as unknown as JsonObject) ?? {};
  if (!type.hasStatusSubresource && status !== undefined) rest['status'] = status;
  let written = read;
  if (Object.keys(rest).length > 0) written = await client.patch(type, key, { type: 'merge', patch: rest });
  if (type.hasStatusSubresource && status !== undefined)
    written = await client.patchStatus(type, key, { type: 'merge', patch: { status } });
  return written;
}

/** Runs a deletion or the like: that the object is gone already is as good. */
export async function ignoreNotFound<Result>(work: Promise<Result>): Promise<Result | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return undefined;
    throw error;
  }
}
