import { isStatusError, StatusError, type AnyObject, type ClientEvent, type ObjectList } from '#pkg/apimachinery/index';
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

export interface FeedListener<T extends AnyObject> {
  /** What there is now: at the beginning, and again where changes were missed. */
  replace(list: ObjectList<T>): void;
  take(events: readonly ClientEvent<T>[]): void;
  enter(state: LiveState): void;
}

/** Lists a selection once, then follows its changes, which are resumed for ever. */
export class ChangeFeed<T extends AnyObject> implements ChangeSink<T> {
  readonly #source: LiveSource<T>;
  readonly #listener: FeedListener<T>;
  readonly #end = new AbortController();
  readonly #backoff = new RetryBackoff();
  #isLive = false;
  #revision: string | undefined;
  #lastSign = Date.now();

  constructor(source: LiveSource<T>, listener: FeedListener<T>) {
    this.#source = source;
    this.#listener = listener;
    void this.#run();
  }

  stop(): void {
    this.#end.abort();
  }

  live(): void {
    if (this.#isLive || this.#end.signal.aborted) return;
    this.#isLive = true;
    this.#listener.enter({ name: 'live' });
  }

  take(events: readonly ClientEvent<T>[]): void {
    if (this.#end.signal.aborted) return;
    this.#backoff.reset();
    this.#lastSign = Date.now();
    for (const event of events)
      this.#revision = event.type === 'BOOKMARK' ? event.resourceVersion : event.object.metadata.resourceVersion;
    if (events.length > 0) this.#listener.take(events);
  }

  behind(isStale: boolean, failure?: StatusError): void {
    if (this.#end.signal.aborted) return;
    this.#isLive = false;
    const staleSince = new Date(this.#lastSign);
    this.#listener.enter(
      isStale ? { name: 'stale', staleSince, ...(failure === undefined ? {} : { failure }) } : { name: 'catching up' },
    );
  }

  /** Never rejects: it tries again until it is stopped. */
  async #run(): Promise<void> {
    const { signal } = this.#end;
    while (!signal.aborted) {
      try {
        if (this.#revision === undefined) this.#begin(await this.#source.list(signal));
        await this.#source.follow(this.#revision!, this, signal);
      } catch (error) {
        if (signal.aborted) return;
        if (isStatusError(error, 'Expired')) this.#revision = undefined;
        else this.behind(true, error instanceof StatusError ? error : undefined);
      }
      await this.#backoff.wait(signal);
    }
  }

  #begin(list: ObjectList<T>): void {
    if (this.#end.signal.aborted) return;
    this.#revision = list.resourceVersion;
    this.#lastSign = Date.now();
    this.#listener.replace(list);
  }
}
