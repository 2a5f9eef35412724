import {
  isStatusError,
  StatusError,
  type AnyObject,
  type ClientEvent,
  type ObjectList,
  type Stored,
} from '#pkg/apimachinery/index';
import { RetryBackoff } from '../retry-backoff.ts';
import type { ChangeSink } from '../stream/shared-stream.ts';

/** The requests of one selection. */
export interface LiveSource<T extends AnyObject> {
  list(signal: AbortSignal): Promise<ObjectList<T>>;
  /** Tells `sink` the changes after `since`, until they end. @throws StatusError: 410 means to list again */
  follow(since: string, sink: ChangeSink<T>, signal: AbortSignal): Promise<void>;
}

/**
 * `loading`: nothing is known yet. `live`: every change arrives. `catching up`: the stream ended, another is on its way.
 * `stale`: the server was silent, or could not be reached; changes since `staleSince` may be missing.
 */
export type LiveState =
  { name: 'loading' | 'live' | 'catching up' } | { name: 'stale'; staleSince: Date; failure?: StatusError };

/** Longest wait for a frame: a page in the background paints none. */
const hiddenFrameMs = 100;

/** The objects of one selection: listed once, then changed by events, which are resumed for ever. */
export class LiveStore<T extends AnyObject> implements ChangeSink<T> {
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
  readonly #backoff = new RetryBackoff();
  #isToldSoon = false;

  constructor(source: LiveSource<T>) {
    this.#source = source;
    void this.#run();
  }

  /** Calls `listener` after each change of objects or state, once for all events that came together or within a frame. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Ends the stream. Its objects stay as they are. */
  stop(): void {
    this.#listeners.clear();
    this.#end.abort();
  }

  live(): void {
    if (this.state.name !== 'live') this.#setState({ name: 'live' });
  }

  take(events: readonly ClientEvent<T>[]): void {
    this.#backoff.reset();
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

  behind(isStale: boolean, failure?: StatusError): void {
    const staleSince = new Date(this.#lastSign);
    this.#setState(
      isStale ? { name: 'stale', staleSince, ...(failure === undefined ? {} : { failure }) } : { name: 'catching up' },
    );
  }

  /** Never rejects: it tries again until it is stopped. */
  async #run(): Promise<void> {
    const { signal } = this.#end;
    while (!signal.aborted) {
      try {
        if (this.#revision === undefined) this.#replace(await this.#source.list(signal));
        await this.#source.follow(this.#revision!, this, signal);
      } catch (error) {
        if (signal.aborted) return;
        if (isStatusError(error, 'Expired')) this.#revision = undefined;
        else this.behind(true, error instanceof StatusError ? error : undefined);
      }
      await this.#backoff.wait(signal);
    }
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

  #setState(state: LiveState): void {
    this.state = state;
    this.#notify();
  }

  /** Once a frame where frames are painted. */
  #notify(): void {
    if (this.#isToldSoon) return;
    this.#isToldSoon = true;
    const tell = (): void => {
      if (!this.#isToldSoon) return;
      this.#isToldSoon = false;
      for (const listener of this.#listeners) listener();
    };
    const { requestAnimationFrame: onFrame } = globalThis as { requestAnimationFrame?: (tell: () => void) => void };
    if (onFrame === undefined) return tell();
    onFrame(tell);
    setTimeout(tell, hiddenFrameMs);
  }
}
