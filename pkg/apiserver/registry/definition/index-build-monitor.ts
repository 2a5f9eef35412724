import type { Logger } from 'pino';
import { groupResource } from '#pkg/apimachinery/index';
import { isEstablished, modelFromDefinition, type CustomResourceDefinition } from '#pkg/apis/index';
import type { Store } from '#pkg/storage/index';
import { BackgroundQueue } from '../model/background-queue.ts';
import type { DefinitionCatalog } from './definition-catalog.ts';
import {
  definitionConditionOf,
  indexesReady,
  isTerminating,
  withDefinitionCondition,
} from './definition-conditions.ts';
import { rewriteDefinition } from './rewrite-definition.ts';
import type { VersionCodec } from '../model/version-codec.ts';

export interface IndexBuildMonitorOptions {
  store: Store;
  codec: VersionCodec;
  catalog: DefinitionCatalog;
  log: Logger;
  /**
   * Longest pause between two checks of indexes that are being built; the first pauses are shorter. Milliseconds,
   * default 1000.
   */
  maxPauseMs?: number;
}

/** Updates the condition IndexesReady from the store's index states while indexes are pending. */
export class IndexBuildMonitor {
  readonly #options: IndexBuildMonitorOptions;
  readonly #queue: BackgroundQueue;

  constructor(options: IndexBuildMonitorOptions) {
    this.#options = options;
    const { log, maxPauseMs = 1_000 } = options;
    const work = (name: string): Promise<'done' | 'again'> => this.#look(name);
    this.#queue = new BackgroundQueue({
      name: 'the check of indexes',
      work,
      log,
      firstPauseMs: maxPauseMs / 10,
      maxPauseMs,
    });
  }

  /** Call it when the definition was created or changed. */
  add(definition: CustomResourceDefinition): void {
    const { name } = definition.metadata;
    if (isPending(definition) && !this.#queue.has(name)) this.#queue.add(name);
  }

  /**
   * Restarts the index builds that were running or had failed when the server stopped. `lockTimeoutMs`: see
   * `ensureModel`.
   */
  async resume(lockTimeoutMs?: number): Promise<void> {
    const { store, catalog, log } = this.#options;
    for (const { definition } of catalog.all()) {
      if (
        !isEstablished(definition) ||
        isTerminating(definition) ||
        definitionConditionOf(definition, 'IndexesReady')?.status === 'True'
      )
        continue;
      try {
        await store.ensureModel(modelFromDefinition(definition), lockTimeoutMs);
        this.#queue.add(definition.metadata.name);
      } catch (error) {
        log.error(
          { err: error, definition: definition.metadata.name },
          'the indexes of a definition could not be updated',
        );
      }
    }
  }

  stop(): Promise<void> {
    return this.#queue.stop();
  }

  async #look(name: string): Promise<'done' | 'again'> {
    const { store, codec, catalog } = this.#options;
    const definition = catalog.get(name)?.definition;
    if (definition === undefined || !isEstablished(definition) || isTerminating(definition)) return 'done';
    const facts = indexesReady(await store.indexStates(groupResource(modelFromDefinition(definition))));
    await rewriteDefinition({ store, codec }, name, (stored) =>
      isTerminating(stored) ? stored : withDefinitionCondition(stored, facts),
    );
    return facts.reason === 'Building' ? 'again' : 'done';
  }
}

function isPending(definition: CustomResourceDefinition): boolean {
  if (!isEstablished(definition) || isTerminating(definition)) return false;
  const { status, reason } = definitionConditionOf(definition, 'IndexesReady') ?? { status: 'Unknown', reason: '' };
  return status !== 'True' && reason !== 'BuildFailed';
}
