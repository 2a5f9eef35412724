import type { AnyObject, Reader, ResourceType, Selection, Watcher } from '#pkg/apimachinery/index';
import { formatGroupResource } from '#pkg/apimachinery/index';
import type { Log } from '../log.ts';
import { Informer } from './informer.ts';

export interface CacheOptions {
  client: Reader & Watcher;
  log: Log;
  /** Delays between failed tries. Milliseconds, default 200 to 30 000. */
  backoff?: { baseMs: number; maxMs: number };
  /** Called when the problem of one of its informers has changed. */
  onProblem?: () => void;
}

/** One informer for each type and selection, shared by all callers. */
export class Cache {
  readonly #options: CacheOptions;
  readonly #informers = new Map<string, Informer<AnyObject>>();
  #isStarted = false;
  #stopped = false;

  constructor(options: CacheOptions) {
    this.#options = options;
  }

  /** Starts the informer if the cache has started. @throws Error after `stop`. */
  informerFor<T extends AnyObject>(type: ResourceType<T>, selection: Selection = {}): Informer<T> {
    if (this.#stopped) throw new Error('the cache is stopped');
    const { namespace, labelSelector, fieldSelector } = selection;
    const key = JSON.stringify([type.group, type.version, type.plural, namespace, labelSelector, fieldSelector]);
    const present = this.#informers.get(key);
    // The caller's type parameter states the type of the objects.
    if (present !== undefined) return present as unknown as Informer<T>;
    const informer = new Informer<T>({ ...this.#options, type, selection });
    this.#informers.set(key, informer as unknown as Informer<AnyObject>);
    if (this.#isStarted) informer.start();
    return informer;
  }

  /** The informer of all objects of a type; undefined if no caller has created it. */
  wholeOf<T extends AnyObject>(type: ResourceType<T>): Informer<T> | undefined {
    return this.#informers.get(
      JSON.stringify([type.group, type.version, type.plural, undefined, undefined, undefined]),
    ) as unknown as Informer<T> | undefined;
  }

  start(): void {
    this.#isStarted = true;
    for (const informer of this.#informers.values()) informer.start();
  }

  /** Resolves with the types whose first list has not arrived when `signal` fires. */
  async waitForSync(signal: AbortSignal): Promise<string[]> {
    const missing = await Promise.all(
      Array.from(this.#informers.values(), async (informer) =>
        (await informer.waitForSync(signal))
          ? []
          : [formatGroupResource({ group: informer.type.group, resource: informer.type.plural })],
      ),
    );
    return missing.flat();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(Array.from(this.#informers.values(), (informer) => informer.stop()));
    this.#informers.clear();
  }
}
