import { isStatusError, StatusError, type AnyObject, type ObjectList, type Stored } from '#pkg/apimachinery/index';
import { pause } from '../pause.ts';
import type { FetchEventStream } from '../watch/event-stream.ts';

/** The requests of one selection. */
export interface LiveSource<T extends AnyObject> {
  list(signal: AbortSignal): Promise<ObjectList<T>>;
  watch(since: string, signal: AbortSignal): Promise<FetchEventStream<T>>;
}

/**
 * `loading`: nothing is known yet. `live`: every change arrives. `catching up`: the stream ended, another is on its way.
 * `stale`: the server was silent, or could not be reached; changes since `staleSince` may be missing.
 */
export type LiveState =
  { name: 'loading' | 'live' | 'catching up' } | { name: 'stale'; staleSince: Date; failure?: StatusError };

/** Milliseconds between tries: doubled from the first to the last. */
const firstWaitMs = 200;
const longestWaitMs = 15_000;

/** The objects of one selection: listed once, then changed by the events of a watch, which is resumed for ever. */
export class LiveStore<T extends AnyObject> {
  readonly objects = new Map<string, Stored<T>>();
  /** Increases with every change of the objects. */
  version = 0;
  /** Is the first list there? */
  isLoaded = false;
  state: LiveState = { name: 'loading' };
  readonly #source: LiveSource<T>;
  readonly #listeners = new Set<() => void>();
  readonly #end = new AbortController();
  #revision: string | undefined;
  #lastSign = Date.now();

  constructor(source: LiveSource<T>) {
    this.#source = source;
    void this.#run();
  }

  /** Calls `listener` after each change of objects or state, once for all events that came together. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Ends the stream. Its objects stay as they are. */
  stop(): void {
    this.#listeners.clear();
    this.#end.abort();
  }

  /** Never rejects: it tries again until it is stopped. */
  async #run(): Promise<void> {
    const { signal } = this.#end;
    let waitMs = firstWaitMs;
    while (!signal.aborted) {
      try {
        if (this.#revision === undefined) this.#replace(await this.#source.list(signal));
        await this.#follow(this.#revision!, signal, () => (waitMs = firstWaitMs));
      } catch (error) {
        if (signal.aborted) return;
        if (isStatusError(error, 'Expired')) this.#revision = undefined;
        else this.#setStale(error instanceof StatusError ? error : undefined);
      }
      await pause(waitMs * (0.5 + Math.random() / 2), signal).catch(() => undefined);
      waitMs = Math.min(longestWaitMs, waitMs * 2);
    }
  }

  async #follow(since: string, signal: AbortSignal, onAlive: () => void): Promise<void> {
    const stream = await this.#source.watch(since, signal);
    this.#setState({ name: 'live' });
    for await (const events of stream.batches()) {
      onAlive();
      this.#lastSign = Date.now();
      for (const event of events) {
        if (event.type === 'BOOKMARK') {
          this.#revision = event.resourceVersion;
          continue;
        }
        const { uid, resourceVersion } = event.object.metadata;
        this.#revision = resourceVersion;
        if (event.type === 'DELETED') this.objects.delete(uid);
        else this.objects.set(uid, event.object);
        this.version += 1;
      }
      if (events.length > 0) this.#notify();
    }
    if (signal.aborted) return;
    if (stream.wasSilent) this.#setStale(undefined);
    else this.#setState({ name: 'catching up' });
  }

  /** Objects that did not change stay the same values. */
  #replace({ items, resourceVersion }: ObjectList<T>): void {
    const before = new Map(this.objects);
    this.objects.clear();
    for (const item of items) {
      const { uid, resourceVersion: revision } = item.metadata;
      const old = before.get(uid);
      this.objects.set(uid, old?.metadata.resourceVersion === revision ? old : item);
    }
    this.#revision = resourceVersion;
    this.#lastSign = Date.now();
    this.version += 1;
    this.isLoaded = true;
    this.#notify();
  }

  #setStale(failure: StatusError | undefined): void {
    const staleSince = new Date(this.#lastSign);
    this.#setState({ name: 'stale', staleSince, ...(failure === undefined ? {} : { failure }) });
  }

  #setState(state: LiveState): void {
    this.state = state;
    this.#notify();
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
