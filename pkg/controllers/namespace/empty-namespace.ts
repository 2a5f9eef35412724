import {
  isStatusError,
  type AnyObject,
  type Reader,
  type ResourceType,
  type Stored,
  type Writer,
} from '#pkg/apimachinery/index';
import { ignoreNotFound } from '#pkg/runtime/index';
import { Failures } from '../parallel/failures.ts';
import { inParallel } from '../parallel/in-parallel.ts';
import { resourceKey } from '../served-types/served-types.ts';

const parallelTypes = 8;
/** Objects of one type: enough to fill a batch of the store. */
const parallelObjects = 32;
const chunkSize = 500;

/** The remaining content of a namespace. */
export interface NamespaceRemains {
  /** Number of objects by resource, such as `posts.blog.example.com`. */
  resources: Map<string, number>;
  /** Number of objects by finalizer. */
  finalizers: Map<string, number>;
  /** Why objects could not be deleted, by resource. */
  failures: Map<string, string>;
}

export interface NamespaceEmptying {
  reader: Reader;
  writer: Pick<Writer, 'delete'>;
  signal: AbortSignal;
}

/** Deletes all objects of these types in a namespace; returns those that remain. */
export async function emptyNamespace(
  namespace: string,
  types: readonly ResourceType[],
  emptying: NamespaceEmptying,
): Promise<NamespaceRemains> {
  const remains: NamespaceRemains = { resources: new Map(), finalizers: new Map(), failures: new Map() };
  await inParallel(types, parallelTypes, async (type) => {
    try {
      await deleteAll(namespace, type, emptying, remains);
    } catch (error) {
      emptying.signal.throwIfAborted();
      // Not served any more: the server checks what remains of it.
      if (isStatusError(error, 'NotFound')) return;
      remains.failures.set(resourceKey(type), error instanceof Error ? error.message : String(error));
    }
  });
  return remains;
}

async function deleteAll(
  namespace: string,
  type: ResourceType,
  { reader, writer, signal }: NamespaceEmptying,
  remains: NamespaceRemains,
): Promise<void> {
  const failures = new Failures();
  let next: string | undefined;
  do {
    const list = await reader.list(type, {
      namespace,
      limit: chunkSize,
      signal,
      ...(next === undefined ? {} : { continue: next }),
    });
    await inParallel(list.items, parallelObjects, async (object) => {
      signal.throwIfAborted();
      await failures.attempt(async () => {
        const left = await deleteOne(type, object, { writer, signal });
        if (left !== undefined) count(type, left, remains);
      });
    });
    next = list.continue;
  } while (next !== undefined);
  failures.rethrow();
}

/** Returns the object if it remains. */
async function deleteOne(
  type: ResourceType,
  object: Stored<AnyObject>,
  { writer, signal }: Omit<NamespaceEmptying, 'reader'>,
): Promise<Stored<AnyObject> | undefined> {
  const { namespace = '', name, uid, deletionTimestamp } = object.metadata;
  if (deletionTimestamp !== undefined) return object;
  return (await ignoreNotFound(writer.delete(type, { namespace, name }, { uid, signal })))?.object;
}

function count(type: ResourceType, { metadata }: Stored<AnyObject>, { resources, finalizers }: NamespaceRemains): void {
  const resource = resourceKey(type);
  resources.set(resource, (resources.get(resource) ?? 0) + 1);
  for (const finalizer of metadata.finalizers ?? []) finalizers.set(finalizer, (finalizers.get(finalizer) ?? 0) + 1);
}
