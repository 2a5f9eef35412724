import {
  isStatusError,
  pause,
  type AnyObject,
  type ClientEvent,
  type ResourceType,
  type Selection,
  type Watcher,
} from '#pkg/apimachinery/index';
import type { Log } from '../log.ts';
import { ItemBackoff } from '../workqueue/rate-limiter.ts';

export interface MissedEventsOptions {
  client: Watcher;
  type: ResourceType;
  selection: Selection;
  /** Reports events after `from`, up to `upTo`. */
  from: bigint;
  upTo: bigint;
  onEvent: (event: Exclude<ClientEvent<AnyObject>, { type: 'BOOKMARK' }>) => void;
  /** Called at the end: all events were reported, or the history has expired. */
  onEnd: (isExpired: boolean) => void;
  log: Log;
}

/**
 * Reports the events between two revisions, with a watch. In a quiet type only a bookmark, about a minute later, shows
 * that it has reached the end; callers need not wait for that.
 */
export class MissedEvents {
  readonly #options: MissedEventsOptions;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  #revision: bigint;
  #isOver = false;

  constructor(options: MissedEventsOptions) {
    this.#options = options;
    this.#revision = options.from;
    this.#running = this.#run(this.#stopping.signal);
  }

  /** All events up to this revision were reported; undefined once all were. */
  get revision(): bigint | undefined {
    return this.#isOver ? undefined : this.#revision;
  }

  /** Reports nothing from now on; resolves when the watch has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { onEnd, log, type } = this.#options;
    const backoff = new ItemBackoff({ baseMs: 200, maxMs: 30_000, jitter: 0.5 });
    while (!signal.aborted && !this.#isOver) {
      const before = this.#revision;
      try {
        await this.#read(signal);
      } catch (error) {
        if (signal.aborted) return;
        const details = { err: error, group: type.group, resource: type.plural };
        if (isStatusError(error, 'Expired')) {
          log.info(details, 'the history since the stored position is no longer kept; reconciling all objects');
          this.#isOver = true;
          return onEnd(true);
        }
        log.warn(details, 'could not read the history since the stored position; retrying');
      }
      if (this.#revision > before) backoff.forget('');
      if (!this.#isOver) await pause(backoff.delay(''), signal);
    }
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { client, type, selection, upTo, onEvent, onEnd } = this.#options;
    const stream = await client.watch(type, {
      ...selection,
      omitManagedFields: true,
      resourceVersion: String(this.#revision),
      signal,
    });
    try {
      for await (const event of stream) {
        if (signal.aborted) return;
        const revision = BigInt(
          event.type === 'BOOKMARK' ? event.resourceVersion : event.object.metadata.resourceVersion,
        );
        // The cache reports later events.
        if (event.type !== 'BOOKMARK' && revision <= upTo) onEvent(event);
        this.#revision = revision;
        if (revision < upTo) continue;
        this.#isOver = true;
        return onEnd(false);
      }
    } finally {
      stream.close();
    }
  }
}
