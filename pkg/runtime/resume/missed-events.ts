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
  /** Events after this one, up to that one. */
  from: bigint;
  upTo: bigint;
  onEvent: (event: Exclude<ClientEvent<AnyObject>, { type: 'BOOKMARK' }>) => void;
  /** Nothing more is told: all has been, or the history is no longer kept. */
  onEnd: (isExpired: boolean) => void;
  log: Log;
}

/**
 * Tells what happened between two revisions, by a watch. In a quiet type it knows that it is at the end only by a
 * bookmark, about a minute later: nobody need wait for that.
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

  /** Everything up to here has been told; undefined once all has been. */
  get revision(): bigint | undefined {
    return this.#isOver ? undefined : this.#revision;
  }

  /** Nothing is told from now on; resolves when nothing runs any more. */
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
          log.info(details, 'the history since the stored position is no longer kept; looking at everything');
          this.#isOver = true;
          return onEnd(true);
        }
        log.warn(details, 'the history since the stored position could not be read; trying again');
      }
      if (this.#revision > before) backoff.forget('');
      if (!this.#isOver) await pause(backoff.delay(''), signal);
    }
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { client, type, selection, upTo, onEvent, onEnd } = this.#options;
    const stream = await client.watch(type, { ...selection, resourceVersion: String(this.#revision), signal });
    try {
      for await (const event of stream) {
        if (signal.aborted) return;
        const revision = BigInt(
          event.type === 'BOOKMARK' ? event.resourceVersion : event.object.metadata.resourceVersion,
        );
        // What comes later is told by the cache.
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
