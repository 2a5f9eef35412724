import type { Logger } from 'pino';
import type { CustomResourceDefinition } from '#pkg/apis/index';
import type { Store } from '#pkg/storage/index';
import { BackgroundQueue } from '../model/background-queue.ts';
import type { DefinitionCatalog } from './definition-catalog.ts';
import { definitionConditionOf, isTerminating } from './definition-conditions.ts';
import type { DefinitionLock } from './definition-lock.ts';
import type { DefinitionSettler } from './definition-settler.ts';
import { rewriteDefinition } from './rewrite-definition.ts';
import type { VersionCodec } from '../model/version-codec.ts';

export interface NameConflictResolverOptions {
  store: Store;
  codec: VersionCodec;
  catalog: DefinitionCatalog;
  settler: DefinitionSettler;
  lock: DefinitionLock;
  log: Logger;
}

/**
 * Assigns names that became free to the definitions whose names were in conflict, the oldest first. Safe on every
 * replica.
 */
export class NameConflictResolver {
  readonly #options: NameConflictResolverOptions;
  readonly #queue: BackgroundQueue;

  constructor(options: NameConflictResolverOptions) {
    this.#options = options;
    this.#queue = new BackgroundQueue({
      name: 'the check of names',
      work: (group, signal) => this.#judge(group, signal),
      log: options.log,
    });
  }

  /** Call it when a definition of this group was created, changed or deleted. */
  add(group: string): void {
    if (this.#losers(group).length > 0) this.#queue.add(group);
  }

  stop(): Promise<void> {
    return this.#queue.stop();
  }

  async #judge(group: string, signal: AbortSignal): Promise<'done'> {
    const { store, codec, settler, lock } = this.#options;
    await lock.run(signal, async (held) => {
      for (const { metadata } of this.#losers(group).toSorted(byAge)) {
        const written = await rewriteDefinition({ store, codec, signal: held }, metadata.name, (definition) =>
          settler.settle(definition),
        );
        // The next definition is judged against the names that this one got.
        if (written !== undefined) await store.changes.waitFor(written.revision, 10_000);
      }
    });
    return 'done';
  }

  #losers(group: string): CustomResourceDefinition[] {
    return this.#options.catalog
      .inGroup(group)
      .filter(
        (definition) =>
          !isTerminating(definition) && definitionConditionOf(definition, 'NamesAccepted')?.status !== 'True',
      );
  }
}

function byAge({ metadata: a }: CustomResourceDefinition, { metadata: b }: CustomResourceDefinition): number {
  return compareText(a.creationTimestamp ?? '', b.creationTimestamp ?? '') || compareText(a.name, b.name);
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
