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
 * Writes the difference between an object as read and as wanted: the status to its subresource, the rest to the object,
 * nothing without a difference. Concurrent changes of other fields stay. A list is replaced as a whole, so for a list
 * with several writers use `update` with its resourceVersion. Returns the new object.
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

/** Treats 404 as success, for example for a deletion. */
export async function ignoreNotFound<Result>(work: Promise<Result>): Promise<Result | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return undefined;
    throw error;
  }
}
