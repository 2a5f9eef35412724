import { groupResource } from '#pkg/apimachinery/index';
import { definitionModel, isDefinition, type CustomResourceDefinition } from '#pkg/apis/index';
import { isStorageError, StorageError, type Store, type StoredObject } from '#pkg/storage/index';
import { isSameObject } from '../write/convert-object.ts';
import type { JsonApiObject } from '../../rest/strategy.ts';
import type { VersionCodec } from '../model/version-codec.ts';

const resource = groupResource(definitionModel);
const maxAttempts = 10;

/**
 * Changes a stored definition on the server's own behalf: status and finalizers, which no client may write. The last
 * finalizer's removal from a deleting one deletes it. `change` is called again when another write came between; what it
 * leaves as it is, is not written. The fingerprint stays: it says under which rules the spec was judged. Undefined when
 * there is no such definition. Nothing is written once `signal` is aborted: its reason is thrown.
 */
export async function rewriteDefinition(
  { store, codec, signal }: { store: Store; codec: VersionCodec; signal?: AbortSignal },
  name: string,
  change: (definition: CustomResourceDefinition) => CustomResourceDefinition | Promise<CustomResourceDefinition>,
): Promise<StoredObject | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    const from = await store.get(resource, { namespace: '', name });
    if (from === undefined) return undefined;
    const old = codec.decode(from);
    if (!isDefinition(old)) throw new StorageError('InvalidKey', `the stored definition ${name} cannot be read`);
    const object = (await change(old)) as JsonApiObject & CustomResourceDefinition;
    if (isSameObject(object, old)) return from;
    const isLast = object.metadata.deletionTimestamp !== undefined && (object.metadata.finalizers ?? []).length === 0;
    try {
      return await store.write(
        { type: isLast ? 'delete' : 'update', resource, object, fingerprint: from.fingerprint, from },
        signal === undefined ? {} : { signal },
      );
    } catch (error) {
      if (!isStorageError(error, 'Conflict') || attempt === maxAttempts) throw error;
    }
  }
}
