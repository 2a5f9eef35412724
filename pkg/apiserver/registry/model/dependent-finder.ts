import { ownerUidIndex, type GroupResource, type Model } from '#pkg/apimachinery/index';
import { isStorageError, type Store } from '#pkg/storage/index';

/** Models queried at a time. */
const maxParallel = 8;

export interface DependentFinderOptions {
  store: Pick<Store, 'chunk'>;
  models: () => readonly { model: Pick<Model, 'scope'>; resource: GroupResource }[];
}

export interface Owner {
  uid: string;
  /** '' for a cluster-scoped owner. */
  namespace: string;
}

/** Finds objects that name an owner, over all models. An object in another namespace than its owner is no dependent. */
export class DependentFinder {
  readonly #options: DependentFinderOptions;

  constructor(options: DependentFinderOptions) {
    this.#options = options;
  }

  /** StorageError IndexNotReady while the index on owners of a model's objects is still being built. */
  async hasAny({ uid, namespace }: Owner, signal: AbortSignal): Promise<boolean> {
    const models = this.#options.models().filter(({ model }) => namespace === '' || model.scope === 'Namespaced');
    const selector = { labels: [], fields: [{ index: ownerUidIndex, operator: 'In' as const, values: [uid] }] };
    let isFound = false;
    let next = 0;
    const worker = async (): Promise<void> => {
      for (let model = models[next++]; model !== undefined && !isFound; model = models[next++]) {
        signal.throwIfAborted();
        if (await this.#hasOne(model.resource, { namespace, selector, signal })) isFound = true;
      }
    };
    await Promise.all(Array.from({ length: maxParallel }, worker));
    return isFound;
  }

  async #hasOne(
    resource: GroupResource,
    query: { namespace: string; selector: Parameters<Store['chunk']>[1]['selector']; signal: AbortSignal },
  ): Promise<boolean> {
    try {
      const { items } = await this.#options.store.chunk(resource, { ...query, sort: [], limit: 1 });
      return items.length > 0;
    } catch (error) {
      // The model was dropped meanwhile, with all its objects.
      if (isStorageError(error, 'ModelNotFound')) return false;
      throw error;
    }
  }
}
