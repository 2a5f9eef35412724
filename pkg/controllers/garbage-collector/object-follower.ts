import {
  isStatusError,
  pause,
  type AnyObject,
  type ClientEvent,
  type Reader,
  type ResourceType,
  type Stored,
  type Watcher,
} from '#pkg/apimachinery/index';
import { ItemBackoff, type Log } from '#pkg/runtime/index';
import type { Backoff } from '../served-types/served-types.ts';

export interface StreamListener {
  /** Called when the watch starts: every later change is reported. `isGap`: some earlier changes were missed. */
  began(isGap: boolean): void;
  event(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: Stored<AnyObject>): void;
}

export interface ObjectFollowerOptions {
  client: Reader & Watcher;
  type: ResourceType;
  /** Start of the watch. */
  resourceVersion: string;
  listener: StreamListener;
  log: Log;
  backoff?: Backoff;
}

/** Watches one type without caching its objects; the listener reads the existing ones itself. */
export class ObjectFollower {
  readonly #options: ObjectFollowerOptions;
  readonly #backoff: ItemBackoff;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #isLast = false;
  #problem: unknown;

  constructor(options: ObjectFollowerOptions) {
    this.#options = options;
    this.#backoff = new ItemBackoff({ ...(options.backoff ?? { baseMs: 200, maxMs: 30_000 }), jitter: 0.5 });
  }

  /** Why it cannot watch its type now (it keeps trying). A type that is not served is not a problem. */
  get problem(): unknown {
    return this.#problem;
  }

  /** Idempotent. */
  start(): void {
    this.#running ??= this.#run(this.#stopping.signal);
  }

  /**
   * Reports the last events of a type that is no longer served, whose watch the server ends. Resolves as `stop` does.
   */
  async finish(): Promise<void> {
    this.#isLast = true;
    await this.#running;
  }

  /** Resolves when the listener gets no further calls. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { type, log, listener, resourceVersion: start } = this.#options;
    let position: string | undefined = start;
    listener.began(false);
    while (!signal.aborted) {
      try {
        if (position === undefined) {
          position = await this.#newest(signal);
          if (!signal.aborted) listener.began(true);
        }
        for await (const resourceVersion of this.#watch(position, signal)) {
          position = resourceVersion;
          this.#backoff.forget('');
        }
      } catch (error) {
        if (signal.aborted) return;
        const details = { err: error, group: type.group, resource: type.plural };
        if (isStatusError(error, 'Expired')) {
          position = undefined;
          log.info(
            details,
            'the history of this type no longer reaches back to the last event seen; checking all owned objects again',
          );
        } else if (isStatusError(error, 'NotFound')) log.debug(details, 'this type is not served');
        else {
          this.#problem = error;
          log.warn(details, 'could not watch this type; retrying');
        }
      }
      if (this.#isLast) return;
      await pause(this.#backoff.delay(''), signal);
    }
  }

  async #newest(signal: AbortSignal): Promise<string> {
    const { client, type } = this.#options;
    return (await client.list(type, { limit: 1, signal })).resourceVersion;
  }

  /** Passes each event to the listener, and yields the revision reached. */
  async *#watch(resourceVersion: string, signal: AbortSignal): AsyncGenerator<string> {
    const { client, type, listener } = this.#options;
    const stream = await client.watch(type, { resourceVersion, signal });
    this.#problem = undefined;
    try {
      for await (const event of stream as AsyncIterable<ClientEvent<AnyObject>>) {
        if (signal.aborted) return;
        if (event.type !== 'BOOKMARK') listener.event(event.type, event.object);
        yield event.type === 'BOOKMARK' ? event.resourceVersion : event.object.metadata.resourceVersion;
      }
    } finally {
      stream.close();
    }
  }
}
