import {
  isStatusError,
  type AnyObject,
  type ClientEvent,
  type ObjectList,
  type StatusError,
} from '#pkg/apimachinery/index';
import type { ChangeSink, LiveSource } from '../live-source.ts';
import { RetryBackoff } from '../retry-backoff.ts';

/**
 * `loading`: nothing is known yet. `live`: every change arrives. `catching up`: the stream ended, another is on its way.
 * `stale`: the server was silent for `maxSilenceMs`, or could not be reached; changes since `staleSince` may be missing.
 */
export type LiveState =
  { name: 'loading' | 'live' | 'catching up' } | { name: 'stale'; staleSince: Date; failure?: StatusError | undefined };

export interface FeedListener<T extends AnyObject> {
  /** What there is now: at the beginning, and again where changes were missed. */
  replace(list: ObjectList<T>): void;
  take(events: readonly ClientEvent<T>[]): void;
  enter(state: LiveState): void;
}

/** Lists a selection once, then follows its changes, which are resumed for ever. */
export class ListFollower<T extends AnyObject> implements ChangeSink<T> {
  readonly #source: LiveSource<T>;
  readonly #listener: FeedListener<T>;
  readonly #end = new AbortController();
  readonly #backoff = new RetryBackoff();
  #isLive = false;
  #revision: string | undefined;
  #lastSign = Date.now();
  #silence: ReturnType<typeof setTimeout> | undefined;

  constructor(source: LiveSource<T>, listener: FeedListener<T>) {
    this.#source = source;
    this.#listener = listener;
    void this.#run();
  }

  stop(): void {
    this.#end.abort();
    clearTimeout(this.#silence);
  }

  live(): void {
    if (this.#isLive) return;
    this.#isLive = true;
    clearTimeout(this.#silence);
    this.#listener.enter({ name: 'live' });
  }

  take(events: readonly ClientEvent<T>[]): void {
    this.#backoff.reset();
    this.#lastSign = Date.now();
    for (const event of events)
      this.#revision = event.type === 'BOOKMARK' ? event.resourceVersion : event.object.metadata.resourceVersion;
    if (events.length > 0) this.#listener.take(events);
  }

  behind(isStale: boolean, failure?: StatusError): void {
    if (this.#end.signal.aborted) return;
    this.#isLive = false;
    clearTimeout(this.#silence);
    if (!isStale) this.#expectSign();
    this.#listener.enter(
      isStale ? { name: 'stale', staleSince: new Date(this.#lastSign), failure } : { name: 'catching up' },
    );
  }

  /** A stream that does not begin is silent, too. */
  #expectSign(): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.behind(true), this.#lastSign + this.#source.maxSilenceMs - Date.now());
  }

  /** Never rejects: it tries again until it is stopped. */
  async #run(): Promise<void> {
    const { signal } = this.#end;
    while (!signal.aborted) {
      try {
        if (this.#revision === undefined) {
          const list = await this.#source.list(signal, () => this.behind(true));
          this.#revision = list.resourceVersion;
          this.#lastSign = Date.now();
          if (!this.#isLive) this.#expectSign();
          this.#listener.replace(list);
          // The listener may have stopped it.
          continue;
        }
        await this.#source.follow(this.#revision, this, signal);
      } catch (error) {
        if (signal.aborted) return;
        if (isStatusError(error, 'Expired')) {
          this.#revision = undefined;
          if (this.#isLive) this.behind(false);
        } else this.behind(true, isStatusError(error) ? error : undefined);
      }
      await this.#backoff.wait(signal);
    }
  }
}
