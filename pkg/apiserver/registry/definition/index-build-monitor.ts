import type { Logger } from 'pino';
import { groupResource } from '#pkg/apimachinery/index';
import { isEstablished, modelFromDefinition, type CustomResourceDefinition } from '#pkg/apis/index';
import type { IndexState, Store } from '#pkg/storage/index';
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
  /** Pause before the condition says how far a build has come, and between two such changes. Milliseconds, default 5000. */
  progressPauseMs?: number;
}

/**
 * Updates the condition IndexesReady from the store's index states while indexes are pending. The replica that builds an
 * index tells its progress.
 */
export class IndexBuildMonitor {
  readonly #options: IndexBuildMonitorOptions;
  readonly #queue: BackgroundQueue;
  /** When the progress of a definition's indexes may be told again. */
  readonly #progressDue = new Map<string, number>();

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
    const outcome = await this.#update(name);
    if (outcome === 'done') this.#progressDue.delete(name);
    return outcome;
  }

  async #update(name: string): Promise<'done' | 'again'> {
    const { store, codec, catalog } = this.#options;
    const definition = catalog.get(name)?.definition;
    if (definition === undefined || !isEstablished(definition) || isTerminating(definition)) return 'done';
    const states = await store.indexStates(groupResource(modelFromDefinition(definition)));
    const facts = indexesReady(states);
    const isBuilding = facts.reason === 'Building';
    const mayTellProgress = isBuilding && this.#mayTellProgress(name, states);
    await rewriteDefinition({ store, codec }, name, (stored) => {
      if (isTerminating(stored)) return stored;
      const isKnown = isBuilding && definitionConditionOf(stored, 'IndexesReady')?.reason === 'Building';
      return isKnown && !mayTellProgress ? stored : withDefinitionCondition(stored, facts);
    });
    return isBuilding ? 'again' : 'done';
  }

  /** Only the replica that builds knows the progress: another would replace what that one has written. */
  #mayTellProgress(name: string, states: readonly IndexState[]): boolean {
    if (states.every(({ progress }) => progress === undefined)) return false;
    const now = performance.now();
    const due = this.#progressDue.get(name);
    if (due !== undefined && now < due) return false;
    this.#progressDue.set(name, now + (this.#options.progressPauseMs ?? 5_000));
    return due !== undefined;
  }
}

function isPending(definition: CustomResourceDefinition): boolean {
  if (!isEstablished(definition) || isTerminating(definition)) return false;
  const { status, reason } = definitionConditionOf(definition, 'IndexesReady') ?? { status: 'Unknown', reason: '' };
  return status !== 'True' && reason !== 'BuildFailed';
}
