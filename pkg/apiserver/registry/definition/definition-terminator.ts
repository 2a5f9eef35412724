import type { Logger } from 'pino';
import { builtinIndexes, groupResource, parseFieldSelector, type GroupResource } from '#pkg/apimachinery/index';
import { definitionModel, isDefinition, type CustomResourceDefinition } from '#pkg/apis/index';
import { isStorageError, type ChunkPosition, type Store } from '#pkg/storage/index';
import { BackgroundQueue } from '../model/background-queue.ts';
import {
  cleanupFinalizer,
  definitionConditionOf,
  hasCleanupFinalizer,
  isTerminating,
  terminatingCondition,
  withDefinitionCondition,
  type DefinitionConditionFacts,
} from './definition-conditions.ts';
import { deleteObjects } from '../write/delete-collection.ts';
import type { ModelContext } from '../model/model-context.ts';
import { deletionCompleted, deletionFailed, remainingInstances } from './remaining-instances.ts';
import { rewriteDefinition } from './rewrite-definition.ts';
import { systemWrite } from '../../rest/write-context.ts';
import type { VersionCodec } from '../model/version-codec.ts';

export interface DefinitionTerminatorOptions {
  store: Store;
  codec: VersionCodec;
  /** Deletes a definition's objects; undefined where the definition is not served. */
  contextOf: (resource: GroupResource) => ModelContext | undefined;
  log: Logger;
}

/** Objects deleted per acquisition of the lock: other replicas wait for it, even to stop. */
const objectsPerRound = 2_000;
const batchSize = 500;
/** Objects that are not marked for deletion yet. */
const unmarked = {
  selector: { labels: [], fields: parseFieldSelector(['!metadata.deletionTimestamp'], builtinIndexes) },
  sort: [],
};

/**
 * Completes the deletion of definitions: deletes the objects, waits for their finalizers, drops the table, then removes
 * the definition's finalizer. Runs on every replica, one at a time per definition; the other replicas then find nothing
 * left to do.
 */
export class DefinitionTerminator {
  readonly #options: DefinitionTerminatorOptions;
  readonly #queue: BackgroundQueue;

  constructor(options: DefinitionTerminatorOptions) {
    this.#options = options;
    this.#queue = new BackgroundQueue({
      name: 'the deletion of a definition',
      work: (name, signal) => this.#terminate(name, signal),
      log: options.log,
      maxPauseMs: 2_000,
    });
  }

  add(definition: CustomResourceDefinition): void {
    const { name } = definition.metadata;
    if (!isTerminating(definition) || !hasCleanupFinalizer(definition)) return;
    // A condition that a turn itself wrote does not start another turn at once.
    const isUnderWay = definitionConditionOf(definition, 'Terminating')?.reason !== terminatingCondition.reason;
    if (!isUnderWay || !this.#queue.has(name)) this.#queue.add(name);
  }

  stop(): Promise<void> {
    return this.#queue.stop();
  }

  async #terminate(name: string, signal: AbortSignal): Promise<'done' | 'again' | 'more'> {
    const { store, codec, contextOf } = this.#options;
    return store.runExclusively(
      `definition ${name}`,
      async (held) => {
        // Read under the lock: a definition that was recreated under this name must not be changed.
        const stored = await store.get(groupResource(definitionModel), { namespace: '', name });
        if (stored === undefined) return 'done';
        const definition = codec.decode(stored);
        if (!isDefinition(definition)) throw new Error('the stored definition cannot be read');
        if (!isTerminating(definition) || !hasCleanupFinalizer(definition)) return 'done';
        const resource = { group: definition.spec.group, resource: definition.spec.names.plural };
        const tell = async (facts: DefinitionConditionFacts): Promise<void> => {
          await rewriteDefinition({ store, codec, signal: held }, name, (present) =>
            isTerminating(present) ? withDefinitionCondition(present, facts) : present,
          );
        };
        let isAll: boolean;
        try {
          isAll = await this.#deleteObjects(resource, held);
        } catch (error) {
          if (!held.aborted) await tell(deletionFailed(error)).catch(() => undefined);
          throw error;
        }
        const left = await this.#remaining(resource, held);
        if (left !== undefined) {
          await tell(left);
          return isAll ? 'again' : 'more';
        }
        held.throwIfAborted();
        // A replica that has not seen the deletion yet may have created an object after the last look.
        if (!(await store.dropModel(resource, { ifEmpty: contextOf(resource) !== undefined }))) return 'more';
        await rewriteDefinition({ store, codec, signal: held }, name, (present) =>
          withDefinitionCondition(withoutCleanup(present), deletionCompleted),
        );
        return 'done';
      },
      signal,
    );
  }

  /** Deletes the objects that are not marked yet. Returns false if more remain than one turn deletes. */
  async #deleteObjects(resource: GroupResource, signal: AbortSignal): Promise<boolean> {
    const { store, contextOf } = this.#options;
    const context = contextOf(resource);
    if (context === undefined) return true;
    return unlessDropped(true, async () => {
      let after: ChunkPosition | undefined;
      for (let tried = 0; tried < objectsPerRound;) {
        const { items, next } = await store.chunk(resource, {
          ...unmarked,
          limit: batchSize,
          signal,
          ...(after === undefined ? {} : { after }),
        });
        await deleteObjects(context, items, systemWrite(signal));
        if (next === undefined) return true;
        tried += items.length;
        // Revision 0: continue with the newest objects, not with the snapshot of the first chunk.
        after = { ...next, revision: 0 };
      }
      return false;
    });
  }

  #remaining(resource: GroupResource, signal: AbortSignal): Promise<DefinitionConditionFacts | undefined> {
    const { store, contextOf } = this.#options;
    if (contextOf(resource) === undefined) return Promise.resolve(undefined);
    return unlessDropped(undefined, () => remainingInstances(store, resource, signal));
  }
}

/** The table may have been dropped before a crash, so that only the finalizer remains. */
async function unlessDropped<T>(otherwise: T, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isStorageError(error, 'ModelNotFound')) return otherwise;
    throw error;
  }
}

function withoutCleanup(definition: CustomResourceDefinition): CustomResourceDefinition {
  const { finalizers = [], ...metadata } = definition.metadata;
  const left = finalizers.filter((finalizer) => finalizer !== cleanupFinalizer);
  return { ...definition, metadata: left.length === 0 ? metadata : { ...metadata, finalizers: left } };
}
