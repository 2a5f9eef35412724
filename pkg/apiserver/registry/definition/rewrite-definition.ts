import { groupResource } from '#pkg/apimachinery/index';
import { definitionModel, isDefinition, type CustomResourceDefinition } from '#pkg/apis/index';
import { isStorageError, StorageError, type Store, type StoredObject } from '#pkg/storage/index';
import { isSameObject } from '../write/convert-object.ts';
import type { JsonApiObject } from '../../rest/strategy.ts';
import type { VersionCodec } from '../model/version-codec.ts';
import { trackDefinitionStatus } from './track-definition-status.ts';

const resource = groupResource(definitionModel);
const maxAttempts = 10;

/**
 * Changes status and finalizers of a stored definition on the server's behalf; clients cannot write them. Removing the
 * last finalizer of a definition that is being deleted deletes it. `change` is called again after a conflict; a result
 * without a change is not written. The fingerprint is kept: it names the rules under which the spec was judged. Returns
 * undefined when the definition does not exist. Once `signal` is aborted, nothing is written and its reason is thrown.
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
    trackDefinitionStatus(old, object);
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
