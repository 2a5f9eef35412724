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
  /** Every change from here on is told. `isGap`: some before were not. */
  began(isGap: boolean): void;
  event(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: Stored<AnyObject>): void;
}

export interface ObjectStreamOptions {
  client: Reader & Watcher;
  type: ResourceType;
  /** Where it begins. */
  resourceVersion: string;
  listener: StreamListener;
  log: Log;
  backoff?: Backoff;
}

/** Follows the changes of one type and keeps none of its objects; what is there at first is for its listener to ask. */
export class ObjectFollower {
  readonly #options: ObjectStreamOptions;
  readonly #backoff: ItemBackoff;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #isLast = false;
  #problem: unknown;

  constructor(options: ObjectStreamOptions) {
    this.#options = options;
    this.#backoff = new ItemBackoff({ ...(options.backoff ?? { baseMs: 200, maxMs: 30_000 }), jitter: 0.5 });
  }

  /** Why its type cannot be followed now, which it goes on trying. One that is not served is none. */
  get problem(): unknown {
    return this.#problem;
  }

  /** Idempotent. */
  start(): void {
    this.#running ??= this.#run(this.#stopping.signal);
  }

  /**
   * Tells what is still to be told of a type that is no longer served, whose watch the server ends. Resolves as `stop`
   * does.
   */
  async finish(): Promise<void> {
    this.#isLast = true;
    await this.#running;
  }

  /** Resolves when its listener will hear nothing more. */
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
            'the history of this type is no longer kept from where it was followed; looking at all owned objects again',
          );
        } else if (isStatusError(error, 'NotFound'))
          log.debug(details, 'this type is not served; its definition will say so');
        else {
          this.#problem = error;
          log.warn(details, 'this type could not be followed; trying again');
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

  /** Tells the listener of each event, and yields how far it is told. */
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
