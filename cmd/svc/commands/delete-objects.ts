import { isStatusError, type Client, type ResourceType } from '#pkg/apimachinery/index';
import { isDefinition, modelFromDefinition, type CustomResourceDefinition } from '#pkg/apis/index';

const chunkSize = 500;
/** Enough to fill a batch of the store. */
const maxParallel = 32;

/** The resource type of a definition's objects; undefined if no version is served. */
export function servedType(definition: CustomResourceDefinition): ResourceType | undefined {
  if (!isDefinition(definition)) return undefined;
  const { group, names, scope, versions } = modelFromDefinition(definition);
  const version = versions.find(({ served }) => served);
  if (version === undefined) return undefined;
  const { kind, plural } = names;
  return {
    group,
    version: version.name,
    kind,
    plural,
    namespaced: scope === 'Namespaced',
    hasStatusSubresource: version.subresources.status,
  };
}

/** Deletes the existing objects of a type; returns their number. */
export async function deleteAllObjects(client: Client, type: ResourceType): Promise<number> {
  let count = 0;
  let next: string | undefined;
  do {
    const list = await client.list(type, { limit: chunkSize, ...(next === undefined ? {} : { continue: next }) });
    const rest = list.items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    count += rest.length;
    const worker = async (): Promise<void> => {
      for (let object = rest.pop(); object !== undefined; object = rest.pop()) {
        const { namespace = '', name, uid } = object.metadata;
        await client.delete(type, { namespace, name }, { uid }).catch(ignoreGone);
      }
    };
    await Promise.all(Array.from({ length: maxParallel }, worker));
    next = list.continue;
  } while (next !== undefined);
  return count;
}

/** Objects of a type that finalizers hold after their deletion, from one list, and those finalizers. */
export async function heldObjects(
  client: Client,
  type: ResourceType,
): Promise<{ count: number; isMore: boolean; finalizers: string[] }> {
  const { items, continue: next } = await client.list(type, {
    fieldSelector: 'metadata.deletionTimestamp',
    limit: chunkSize,
  });
  const finalizers = new Set(items.flatMap(({ metadata }) => metadata.finalizers ?? []));
  return { count: items.length, isMore: next !== undefined, finalizers: [...finalizers].toSorted() };
}

/** Deleted or replaced meanwhile. */
function ignoreGone(error: unknown): void {
  if (!isStatusError(error, 'NotFound') && !isStatusError(error, 'Conflict')) throw error;
}
