import { equalJson, formatTimestamp, groupResource, type JsonObject } from '#pkg/apimachinery/index';
import { definitionStatus, isEstablished, modelFromDefinition, type CustomResourceDefinition } from '#pkg/apis/index';
import type { Store } from '#pkg/storage/index';
import type { DefinitionCatalog } from './definition-catalog.ts';
import {
  cleanupFinalizer,
  hasCleanupFinalizer,
  indexesReady,
  isTerminating,
  withDefinitionCondition,
} from './definition-conditions.ts';

/**
 * Computes the status of a definition that is about to be stored, and creates the table for its objects. Runs under the
 * DefinitionLock.
 */
export class DefinitionSettler {
  readonly #store: Store;
  readonly #catalog: DefinitionCatalog;

  constructor(store: Store, catalog: DefinitionCatalog) {
    this.#store = store;
    this.#catalog = catalog;
  }

  /** Returns the definition with its computed status. Does not change the store. */
  withComputedStatus(definition: CustomResourceDefinition): CustomResourceDefinition {
    const others = this.#catalog.claimsOfOthers(definition.spec.group, definition.metadata.name);
    const judged = { ...definition, status: definitionStatus(definition, others, formatTimestamp(Date.now())) };
    if (!isEstablished(judged) || hasCleanupFinalizer(judged)) return judged;
    return {
      ...judged,
      metadata: { ...judged.metadata, finalizers: [...(judged.metadata.finalizers ?? []), cleanupFinalizer] },
    };
  }

  /** Like `withComputedStatus`, and creates the table and indexes before a client can read that they exist. */
  async settle(definition: CustomResourceDefinition): Promise<CustomResourceDefinition> {
    if (isTerminating(definition)) return definition;
    const judged = this.withComputedStatus(definition);
    if (!isEstablished(judged) || !this.#isNews(judged)) return judged;
    const model = modelFromDefinition(judged);
    await this.#store.ensureModel(model);
    return withDefinitionCondition(judged, indexesReady(await this.#store.indexStates(groupResource(model))));
  }

  #isNews(definition: CustomResourceDefinition): boolean {
    const known = this.#catalog.get(definition.metadata.name)?.definition;
    return (
      known === undefined ||
      !isEstablished(known) ||
      !equalJson(known.spec as unknown as JsonObject, definition.spec as unknown as JsonObject)
    );
  }
}
