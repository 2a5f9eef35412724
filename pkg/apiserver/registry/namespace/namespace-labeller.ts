import type { Logger } from 'pino';
import { isStatusError } from '#pkg/apimachinery/index';
import type { ResourceStorage, UpdateRequest } from '../../rest/served-resource.ts';
import { systemWrite } from '../../rest/write-context.ts';
import { BackgroundQueue } from '../model/background-queue.ts';
import { hasRoomForNameLabel } from './namespace-strategy.ts';

/** The queue's only key. */
const all = 'namespaces';

export interface NamespaceLabellerOptions {
  /** Of namespaces. */
  storage: () => ResourceStorage | undefined;
  log: Logger;
}

/**
 * Gives namespaces the label with their name that were stored without it, by an earlier version of the server. Each
 * replica does so, one at a time; all but the first find nothing to change.
 */
export class NamespaceLabeller {
  readonly #options: NamespaceLabellerOptions;
  readonly #queue: BackgroundQueue;
  readonly #names = new Set<string>();
  #isStarted = false;

  constructor(options: NamespaceLabellerOptions) {
    this.#options = options;
    this.#queue = new BackgroundQueue({
      name: 'the labels of namespaces',
      work: (_key, signal) => this.#labelAll(signal),
      log: options.log,
    });
  }

  /** A namespace lacks the label. */
  add(name: string): void {
    this.#names.add(name);
    if (this.#isStarted) this.#queue.add(all);
  }

  start(): void {
    this.#isStarted = true;
    if (this.#names.size > 0) this.#queue.add(all);
  }

  /** Resolves when the running work has ended. */
  stop(): Promise<void> {
    return this.#queue.stop();
  }

  async #labelAll(signal: AbortSignal): Promise<'done'> {
    for (const name of this.#names) {
      await this.#label(name, signal);
      this.#names.delete(name);
    }
    return 'done';
  }

  /** The namespaces' strategy sets the label in every update. */
  async #label(name: string, signal: AbortSignal): Promise<void> {
    const key = { namespace: '', name };
    let hasRoom = true;
    const transform: UpdateRequest['transform'] = (current) => {
      hasRoom = hasRoomForNameLabel(current.metadata);
      return current;
    };
    try {
      await this.#options
        .storage()
        ?.update({ key, subresource: '', preconditions: {}, transform }, systemWrite(signal));
    } catch (error) {
      if (!isStatusError(error, 'NotFound')) throw error;
    }
    if (!hasRoom)
      this.#options.log.warn({ namespace: name }, 'a namespace has too many labels to get the one with its name');
  }
}
