import {
  isStatusError,
  pause,
  type AnyObject,
  type ClientEvent,
  type Reader,
  type ResourceType,
  type Selection,
  type Stored,
  type Watcher,
} from '#pkg/apimachinery/index';
import type { Log } from '../log.ts';
import { ItemBackoff } from '../workqueue/rate-limiter.ts';

/** Objects in a chunk of a list. */
const chunkSize = 500;
/** One or two failures may only be a restart of the server. */
const failuresThatCount = 3;

/** Receives the objects of a type, then every change. */
export interface ReflectorSink<T extends AnyObject> {
  /** All objects at one revision; objects that are not among them no longer exist. */
  replace(objects: readonly Stored<T>[], resourceVersion: string): void;
  apply(event: ClientEvent<T>): void;
  /** Called after several failures in a row with the last one; with undefined once the type is followed again. */
  failing?(problem: unknown): void;
}

export interface ReflectorOptions<T extends AnyObject> {
  client: Reader & Watcher;
  type: ResourceType<T>;
  selection?: Selection;
  sink: ReflectorSink<T>;
  log: Log;
  /** Delays between failed tries: the first and the longest. Milliseconds, default 200 and 30 000. */
  backoff?: { baseMs: number; maxMs: number };
}

/**
 * Keeps a sink in sync with the API: lists once, then watches from there. A watch that ends is resumed at its last
 * revision; it lists again only if that history has expired. Source: client-go, `tools/cache.Reflector`.
 */
export class Reflector<T extends AnyObject> {
  readonly #options: ReflectorOptions<T>;
  readonly #backoff: ItemBackoff;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  /** Failures since the last success. */
  #failures = 0;
  /** The sink threw for an event. */
  #isSinkFailing = false;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#backoff = new ItemBackoff({ ...(options.backoff ?? { baseMs: 200, maxMs: 30_000 }), jitter: 0.5 });
  }

  /** Idempotent; never rejects. */
  start(): void {
    this.#running ??= this.#run(this.#stopping.signal);
  }

  /** Resolves when the sink gets no further calls. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(signal: AbortSignal): Promise<void> {
    let position: string | undefined;
    while (!signal.aborted) {
      try {
        position ??= await this.#list(signal);
        for await (const resourceVersion of this.#watch(position, signal)) {
          position = resourceVersion;
          this.#backoff.forget('');
          this.#followed();
        }
      } catch (error) {
        if (signal.aborted) return;
        const isExpired = isStatusError(error, 'Expired');
        // The same event would fail again; a list has a newer state of the object.
        if (isExpired || this.#isSinkFailing) position = undefined;
        const { type, log } = this.#options;
        const details = { err: error, group: type.group, resource: type.plural };
        if (!isExpired) this.#failed(error);
        if (isExpired)
          log.info(details, 'the history of this type no longer reaches back to the last event seen; listing again');
        else log.warn(details, 'could not watch this type; retrying');
      }
      // A watch that ended well is taken up again soon; what fails again and again, ever later.
      await pause(this.#backoff.delay(''), signal);
    }
  }

  async #list(signal: AbortSignal): Promise<string> {
    const { client, type, selection, sink } = this.#options;
    const objects: Stored<T>[] = [];
    let next: string | undefined;
    for (;;) {
      const list = await client.list(type, {
        ...selection,
        omitManagedFields: true,
        limit: chunkSize,
        signal,
        ...(next === undefined ? {} : { continue: next }),
      });
      objects.push(...list.items);
      next = list.continue;
      if (next !== undefined) continue;
      if (!signal.aborted) this.#tell(() => sink.replace(objects, list.resourceVersion));
      return list.resourceVersion;
    }
  }

  /** Passes each event to the sink, and yields the revision reached. */
  async *#watch(resourceVersion: string, signal: AbortSignal): AsyncGenerator<string> {
    const { client, type, selection, sink } = this.#options;
    const stream = await client.watch(type, { ...selection, omitManagedFields: true, resourceVersion, signal });
    this.#followed();
    try {
      for await (const event of stream) {
        if (signal.aborted) return;
        this.#tell(() => sink.apply(event));
        yield event.type === 'BOOKMARK' ? event.resourceVersion : event.object.metadata.resourceVersion;
      }
    } finally {
      stream.close();
    }
  }

  #tell(notify: () => void): void {
    this.#isSinkFailing = true;
    notify();
    this.#isSinkFailing = false;
  }

  #failed(error: unknown): void {
    this.#failures += 1;
    if (this.#failures >= failuresThatCount) this.#options.sink.failing?.(error);
  }

  #followed(): void {
    const wasFailing = this.#failures >= failuresThatCount;
    this.#failures = 0;
    if (wasFailing) this.#options.sink.failing?.(undefined);
  }
}
